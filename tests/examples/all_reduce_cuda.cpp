// SPDX-License-Identifier: Apache-2.0
#include "all_reduce/options.hpp"
#include "catch.hpp"
#include "cli/outcome.hpp"

#include <assay/cli/gate.hpp>
#include <assay/cli/run.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::examples;
using assay::test::contains;

namespace {

/// The outcome of a command line, and what it was understood as.
struct outcome : test::outcome {
  all_reduce_parameters given;
  measure::clock clock = measure::clock::submit;
};

outcome parsed(std::vector<std::string> const& words) {
  outcome seen;
  static_cast<test::outcome&>(seen) =
      test::outcome_of(words, [&](int argc, auto argv, std::ostream& out, std::ostream& err) {
        all_reduce_options asked;
        return cli::run(
            argc, argv, {"x"}, [&](CLI::App& app) { asked.add_to(app); },
            [&](cli::options const& chosen) {
              seen.given = asked.read(chosen);
              seen.clock = *chosen.measuring.clock;
              return std::optional<measure::comparison>{};
            },
            out, err);
      });
  return seen;
}

}  // namespace

TEST_CASE("sizes have defaults, shorter ones with --quick, and can be named", "[examples]") {
  auto const plain = parsed({}).given;
  CHECK(plain.compared.size() == 5);
  CHECK(plain.compared.front() == 256 << 10);
  CHECK(plain.sweep == 8 << 20);
  CHECK(plain.sms == std::vector<unsigned>{2, 8, 16});
  auto const quick = parsed({"--quick"}).given;
  CHECK(quick.compared == std::vector<std::size_t>{256 << 10, 1 << 20});
  CHECK(quick.sweep == 8 << 20);
  CHECK(quick.sms == std::vector<unsigned>{2, 8});
  auto const named =
      parsed({"--quick", "--strategy-sizes", "64KiB,3MiB", "--sweep-size", "10MB"}).given;
  CHECK(named.compared == std::vector<std::size_t>{64 << 10, 3 << 20});
  CHECK(named.sweep == 10'000'000);
  CHECK(parsed({"-g", "4"}).code == cli::ok);
  CHECK(parsed({"--same-device", "4", "--device", "1"}).code == cli::ok);
  CHECK_THAT(parsed({"--help"}).out, contains("--ngpus") && contains("--same-device") &&
                                         contains("--strategy-sizes") && contains("Exit codes"));
}

TEST_CASE("the gpu clock decides, unless another is named", "[examples]") {
  CHECK(parsed({}).clock == measure::clock::gpu);
  CHECK(parsed({"--clock", "wall"}).clock == measure::clock::wall);
}

TEST_CASE("options that make no sense are refused in one line", "[examples]") {
  for (auto const& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"-g", "-1"}, "-g -1"},
           {{"-g", "9"}, "-g 9"},
           {{"--host"}, "--host"},
           {{"-g", "1"}, "-g 1: it must be between 2 and 8"},
           {{"--same-device", "1"}, "--same-device 1: it must be between 2 and 8"},
           {{"--same-device", "2", "-g", "2"}, "-g 2: ranks have devices of their own"},
           {{"--device", "1"}, "--device 1: it is for --same-device"},
           {{"--strategy-sizes", "1MiB,x"}, "--strategy-sizes: 'x'"},
           {{"--sweep-size", "0"}, "--sweep-size: '0'"},
           {{"--sweep-size", "1MB"}, "--sweep-size 1MB: 16 SMs need 4MiB"},
           {{"--same-device", "9"}, "--same-device 9"}}) {
    auto const seen = parsed(words);
    INFO(seen.err);
    CHECK(seen.code == cli::bad_input);
    CHECK_THAT(seen.err, contains("error: ") && contains(told));
    CHECK(std::count(seen.err.begin(), seen.err.end(), '\n') == 1);
  }
}
