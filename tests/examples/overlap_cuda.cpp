// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "cli/outcome.hpp"
#include "overlap/options.hpp"

#include <assay/cli/gate.hpp>
#include <assay/cli/run.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::examples;
using assay::test::contains;

namespace {

/// The program's host half, as its command line says.
test::outcome run(std::vector<std::string> const& words) {
  return test::outcome_of(words, [](int argc, auto argv, std::ostream& out, std::ostream& err) {
    overlap_options asked;
    return cli::run(
        argc, argv, {"the host half"}, [&](CLI::App& app) { asked.add_to(app); },
        [&](cli::options const& chosen) {
          return overlap_on_host(asked.read(chosen.quick), chosen);
        },
        out, err);
  });
}

}  // namespace

TEST_CASE("sizes have defaults, and come in ascending order", "[examples]") {
  auto const parsed = [](std::vector<std::string> words, bool quick = false) {
    overlap_options options;
    CLI::App app;
    options.add_to(app);
    std::ranges::reverse(words);
    app.parse(words);
    return options.read(quick).sizes;
  };
  using sizes = std::vector<std::string>;
  CHECK(parsed({}) == sizes{"1MiB", "4MiB", "16MiB", "64MiB"});
  CHECK(parsed({}, true) == sizes{"1MiB", "4MiB"});
  CHECK(parsed({"--bytes", "1GiB,9MiB,2097152"}, true) == sizes{"2097152", "9MiB", "1GiB"});
}

TEST_CASE("the program refuses what makes no sense in one line", "[examples]") {
  for (auto const& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--flops", "3"}, "--flops 3"},
           {{"--bytes", "1KiB"}, "--bytes 1024"},
           {{"--bytes", "1MiB,much"}, "--bytes: 'much'"},
           {{"--bytes", "64GiB"}, "--bytes 68719476736"}}) {
    auto const seen = run(words);
    INFO(seen.err);
    CHECK(seen.code == cli::bad_input);
    CHECK_THAT(seen.err, contains("error: ") && contains(told));
    CHECK(std::count(seen.err.begin(), seen.err.end(), '\n') == 1);
  }
}

TEST_CASE("the host half gives verdicts on the sum of two arrays", "[examples]") {
  auto const seen = run({"--host", "--quick", "--bytes", "1MiB", "--epochs", "8"});
  INFO(seen.err);
  CHECK(seen.code == cli::ok);
  CHECK_THAT(seen.out, contains("Adding two arrays on the CPU") && contains("on::host{1}"));
  CHECK(run({"--host", "--list"}).code == cli::ok);
}
