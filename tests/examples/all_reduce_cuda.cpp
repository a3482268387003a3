// SPDX-License-Identifier: Apache-2.0
#include "all_reduce/options.hpp"
#include "all_reduce/report.hpp"
#include "catch.hpp"
#include "cli/outcome.hpp"

#include <assay/cli/run.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>
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
              return std::optional<measure::comparison>{};
            },
            out, err);
      });
  return seen;
}

}  // namespace

TEST_CASE("busbw by SMs is printed, and written as JSON", "[examples]") {
  std::vector<block_row> const blocks{{1, "1", "copy::regular<16, 4>", 1e-3, 9e-4, 2e-3, 67.1},
                                      {1, "1", "copy::bulk<4>", 5e-4, 4e-4, 6e-4, 134.2},
                                      {8, "1", "copy::bulk<4>", 2e-4, 1e-4, 3e-4, 335.5}};
  std::ostringstream out;
  print_blocks(out, blocks, 1 << 26);
  CHECK(out.str() ==
        "\nBusbw in GB/s by SMs of each GPU (strategy, stages), 64.0 MiB\n"
        "  SMs  copy::regular<16, 4>, 1  copy::bulk<4>, 1\n"
        "  1                       67.1             134.2\n"
        "  8                                        335.5\n");
  auto const json = blocks_json(blocks, 1 << 26, 2);
  REQUIRE(json["blocks"].size() == 3);
  CHECK(json["blocks"][1]["strategy"] == "copy::bulk<4>");
  CHECK(json["blocks"][1]["busbw_gb_per_second"] == 134.2);
  CHECK(json["sweep_bytes"] == 1 << 26);
  CHECK(json["ranks"] == 2);
}

TEST_CASE("sizes have defaults, shorter ones with --quick, and can be named", "[examples]") {
  auto const plain = parsed({}).given;
  CHECK(plain.compared.size() == 7);
  CHECK(plain.compared.front() == 256 << 10);
  CHECK(plain.sweep == 64 << 20);
  auto const quick = parsed({"--quick"}).given;
  CHECK(quick.compared == std::vector<std::size_t>{256 << 10, 1 << 20});
  CHECK(quick.sweep == 8 << 20);
  auto const named =
      parsed({"--quick", "--strategy-sizes", "64KiB,3MiB", "--sweep-size", "1MB"}).given;
  CHECK(named.compared == std::vector<std::size_t>{64 << 10, 3 << 20});
  CHECK(named.sweep == 1'000'000);
  CHECK(parsed({"-g", "4"}).code == cli::ok);
  CHECK(parsed({"--same-device", "4", "--device", "1"}).code == cli::ok);
  CHECK_THAT(parsed({"--help"}).out, contains("--ngpus") && contains("--same-device") &&
                                         contains("--strategy-sizes") && contains("Exit codes"));
}

TEST_CASE("options that make no sense are refused in one line", "[examples]") {
  for (auto const& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"-g", "-1"}, "-g -1"},
           {{"-g", "9"}, "-g 9"},
           {{"--host"}, "--host"},
           {{"-g", "1"}, "-g 1: an all-reduce takes 2"},
           {{"--same-device", "1"}, "--same-device 1: an all-reduce takes 2"},
           {{"--same-device", "2", "-g", "2"}, "--same-device 2: -g is"},
           {{"--device", "1"}, "--device 1: it is for --same-device"},
           {{"--strategy-sizes", "1MiB,x"}, "--strategy-sizes: 'x'"},
           {{"--sweep-size", "0"}, "--sweep-size: '0'"},
           {{"--same-device", "9"}, "--same-device 9"}}) {
    auto const seen = parsed(words);
    INFO(seen.err);
    CHECK(seen.code == cli::bad_input);
    CHECK_THAT(seen.err, contains("error: ") && contains(told));
    CHECK(std::count(seen.err.begin(), seen.err.end(), '\n') == 1);
  }
}
