// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "cli/outcome.hpp"

#include "dispatch/options.hpp"

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

using namespace assay;
using examples::dispatch_options;
using examples::dispatch_parameters;
using test::contains;

namespace {

std::optional<dispatch_parameters> parsed(std::vector<std::string> const& words,
                                          test::outcome& seen) {
  std::optional<dispatch_parameters> found;
  seen = test::outcome_of(words, [&](int argc, auto argv, std::ostream& out, std::ostream& err) {
    CLI::App app{"x"};
    dispatch_options const options{app, {"vector_add", "reduction", "matmul"}, {"reduction"}};
    return cli::guarded(
        app, argc, argv,
        [&] {
          found = options.read();
          return 0;
        },
        out, err);
  });
  return found;
}

/// A task that one thread of the host serves, and one that all do.
struct of_one_thread {
  static bool serves(on::host place) { return place.threads == 1; }
};
struct of_all {};

}  // namespace

TEST_CASE("options of the dispatch experiment") {
  test::outcome seen;
  auto const usual = parsed({}, seen);
  REQUIRE(usual);
  CHECK(usual->tasks == std::vector<std::string>{"reduction"});
  CHECK(usual->threads.front() == 1);
  CHECK(usual->seed != 0);
  CHECK(usual->bisects);
  CHECK(usual->sweep == 0);
  auto const quick = parsed({"--quick", "--budget", "3", "--seed", "7"}, seen);
  REQUIRE(quick);
  CHECK(quick->budget_seconds == 3);
  CHECK(quick->calls == 12);
  CHECK(quick->training == 12);
  CHECK(quick->traced == 4);
  CHECK_FALSE(parsed({"--no-bisect"}, seen)->bisects);
  CHECK(quick->seed == 7);

  auto const refused = [&](std::vector<std::string> const& words) {
    CHECK_FALSE(parsed(words, seen));
    CHECK(seen.code == cli::bad_input);
    CHECK(std::count(seen.err.begin(), seen.err.end(), '\n') == 1);
    return seen.err;
  };
  CHECK_THAT(
      refused({"--tasks", "matmull"}),
      contains("--tasks: unknown task 'matmull': choose one of vector_add, reduction, matmul"));
  CHECK_THAT(refused({"--threads", "0"}), contains("--threads 0: it must be between 1 and "));
  CHECK_THAT(refused({"--threads", "5000"}), contains("--threads 5000"));
  CHECK_THAT(refused({"--largest", "1"}), contains("--largest 1: it must be between 2 and "));
  CHECK_THAT(refused({"--budget", "nan"}), contains("--budget nan"));
  CHECK_THAT(refused({"--training", "-1"}), contains("--training"));
  CHECK_THAT(refused({"--trace", "5000"}), contains("--trace 5000: it must be between 0 and 2000"));
  CHECK_THAT(refused({"--seed", "0"}), contains("'0' is not a seed"));
  CHECK_THAT(refused({"--json", "./x", "--html", "x"}), contains("its own path"));
  CHECK_FALSE(parsed({"--csv", "/no/such/folder/x.csv"}, seen));
  CHECK(seen.code == cli::failed);
  CHECK_THAT(seen.err, contains("choose another path"));
  CHECK_THAT(refused({"--html", "--quick"}), contains("--html"));
  CHECK_THAT(refused({"--host", "--device", "0"}), contains("--host"));
}

TEST_CASE("a task has the paths that serve it, those on the host first") {
  dispatch_parameters given;
  given.threads = {1, 4};
  given.device = 2;
  CHECK(given.paths<of_all>(true) ==
        std::vector<dispatch::path>{on::host{1}, on::host{4}, on::device{2}});
  CHECK(given.paths<of_one_thread>(false) == std::vector<dispatch::path>{on::host{1}});
  given.threads = {4};
  CHECK(given.paths<of_one_thread>(false) == std::vector<dispatch::path>{on::host{1}});
}
