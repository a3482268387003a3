// SPDX-License-Identifier: Apache-2.0
#include "all_reduce/options.hpp"
#include "all_reduce/table.hpp"
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

all_reduce_row row(std::size_t bytes, double out, double in) {
  all_reduce_row made;
  made.bytes = bytes;
  made.count = bytes / 4;
  made.out_of_place = {out, std::uint64_t{0}};
  made.in_place = {in, std::uint64_t{0}};
  return made;
}

std::vector<std::string> words_of(std::string const& line) {
  std::istringstream in{line};
  std::vector<std::string> all;
  for (std::string word; in >> word;) { all.push_back(word); }
  return all;
}

std::vector<std::string> lines_of(std::string const& text) {
  std::istringstream in{text};
  std::vector<std::string> all;
  for (std::string line; std::getline(in, line);) { all.push_back(line); }
  return all;
}

/// The outcome of a command line, and what it was understood as.
struct outcome : test::outcome {
  std::string heading;
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
              seen.heading = asked.heading(seen.given);
              return std::optional<measure::comparison>{};
            },
            out, err);
      });
  return seen;
}

}  // namespace

TEST_CASE("a row is as nccl-tests prints it, byte for byte", "[examples]") {
  auto one = row(1048576, 12.34e-6, 1234.5e-6);
  one.in_place.wrong = 17;
  // 1048576 / 12.34e-6 = 84.97 GB/s, and 2 (4 - 1) / 4 of it 127.46; in place 0.849 and 1.27.
  CHECK(row_text(one, {}, 4) ==
        "     1048576        262144     float     sum      -1"
        "    12.34   84.97  127.46       0"
        "  1234.50    0.85    1.27      17");
  CHECK(words_of(row_text(one, {}, 4)).size() == 13);
  one.out_of_place.wrong.reset();
  one.in_place = {};
  CHECK(row_text(one, {}, 2) ==
        "     1048576        262144     float     sum      -1"
        "    12.34   84.97   84.97     N/A"
        "      N/A     N/A     N/A     N/A");
}

TEST_CASE("numbers lose decimals and not their column", "[examples]") {
  CHECK(fitted(5.678, 7) == "   5.68");
  CHECK(fitted(9999.99, 7) == "9999.99");
  CHECK(fitted(9999.996, 7) == "10000.0");
  CHECK(fitted(12345.67, 7) == "12345.7");
  CHECK(fitted(1234567.8, 7) == "1234568");
  CHECK(fitted(123456789.0, 7) == "123456789");
  CHECK(fitted(371.12, 6) == "371.12");
  CHECK(fitted(1371.12, 6) == "1371.1");
  CHECK(fitted(0, 6) == "  0.00");
}

TEST_CASE("bus bandwidth is 2 (n - 1) / n of the algorithm's", "[examples]") {
  CHECK(bus_gigabytes(1e9, 1, 2) == Approx(1));
  CHECK(bus_gigabytes(1e9, 0.5, 4) == Approx(3));
  CHECK(bus_gigabytes(1e9, 2, 8) == Approx(0.875));
  CHECK(bus_gigabytes(1e9, 0, 4) == 0);
}

TEST_CASE("heading and footer are as nccl-tests has them", "[examples]") {
  all_reduce_table const table{"comm::all_reduce",
                               {row(1'000'000, 1e-5, 2e-5), row(2'000'000, 1e-5, 1e-5)}};
  std::ostringstream out;
  print_table(out, table, {"# parameters", "#  Rank  1"}, {}, 2);
  auto const lines = lines_of(out.str());
  REQUIRE(lines.size() == 12);
  CHECK(lines[0] == "# Engine: comm::all_reduce");
  CHECK(lines[1] == "# parameters");
  CHECK_THAT(lines[4], contains("out-of-place") && contains("in-place"));
  CHECK(lines[5] ==
        "#       size         count      type   redop    root"
        "     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong");
  CHECK(words_of(lines[6]) == std::vector<std::string>{"#", "(B)", "(elements)", "(us)", "(GB/s)",
                                                       "(GB/s)", "(us)", "(GB/s)", "(GB/s)"});
  CHECK(lines[5].size() == row_text(table.rows[0], {}, 2).size());
  CHECK(lines[6].size() == lines[5].size());
  CHECK(lines[9] == "# Out of bounds values : 0 OK");
  // 100, 50, 200 and 200 GB/s.
  CHECK(lines[10] == "# Avg bus bandwidth    : 137.5");
  // What is not a comment has 13 fields, as those who parse nccl-tests expect.
  for (auto const& line : lines) {
    if (!line.empty() && line[0] != '#') { CHECK(words_of(line).size() == 13); }
  }
}

TEST_CASE("the footer counts what is wrong", "[examples]") {
  std::vector<all_reduce_row> rows{row(1'000'000, 1e-5, 1e-5)};
  rows[0].in_place = {};
  CHECK(footer_of(rows, 2).bus_bandwidth == Approx(100));
  rows[0].out_of_place.wrong = 3;
  rows.push_back(row(1'000'000, 1e-5, 1e-5));
  rows.back().in_place.wrong = 4;
  CHECK(footer_of(rows, 2).wrong == 7);
  CHECK(footer_of({}, 2).bus_bandwidth == 0);
  std::ostringstream out;
  print_table(out, {"e", rows}, {}, {}, 2);
  CHECK_THAT(out.str(), contains("# Out of bounds values : 7 FAILED"));
}

TEST_CASE("busbw by SMs is printed, and written with the tables as JSON", "[examples]") {
  std::vector<block_row> const blocks{{1, "1", "copy::regular<16, 4>", 1e-3, 9e-4, 2e-3, 67.1},
                                      {1, "1", "copy::bulk<4>", 5e-4, 4e-4, 6e-4, 134.2},
                                      {8, "1", "copy::bulk<4>", 2e-4, 1e-4, 3e-4, 335.5}};
  std::ostringstream out;
  print_blocks(out, blocks, 1 << 26);
  CHECK_THAT(out.str(), contains("335.5") && contains("67.1") && contains("64.0 MiB"));
  auto theirs = row(1024, 6e-6, 6e-6);
  theirs.in_place = {};
  auto const json = tables_json({{"ours", {row(1024, 2e-6, 4e-6)}}, {"nccl", {theirs}}}, blocks, 2);
  CHECK(json["tables"][0]["rows"][0]["in_place"]["seconds"] == 4e-6);
  CHECK_FALSE(json["tables"][1]["rows"][0].contains("in_place"));
  CHECK(json["tables"][1]["rows"][0]["out_of_place"]["wrong"] == 0);
  CHECK(json["blocks"].size() == 3);
  CHECK(json["ranks"] == 2);
}

TEST_CASE("options have the letters and the meaning of nccl-tests", "[examples]") {
  auto const seen =
      parsed({"-b", "8",  "-e", "1K", "-f",       "2",  "-g",  "4",  "-n", "7",  "-w",
              "3",  "-c", "0",  "-d", "bfloat16", "-o", "avg", "-G", "5",  "-R", "2"});
  INFO(seen.err);
  REQUIRE(seen.code == cli::ok);
  CHECK(seen.given.sizes == std::vector<std::size_t>{8, 16, 32, 64, 128, 256, 512, 1024});
  CHECK(seen.given.iterations == 7);
  CHECK(seen.given.type == "bfloat16");
  CHECK(seen.given.windows);
  CHECK(seen.heading ==
        "# nGpus 4 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 3 iters: 7 "
        "validation: 0 graph: 5");

  auto const steps = parsed({"-b", "1M", "-e", "3MiB", "-i", "1M"});
  CHECK(steps.given.sizes == std::vector<std::size_t>{1 << 20, 2 << 20, 3 << 20});
  CHECK_THAT(steps.heading, contains("step: 1048576(bytes)"));
  auto const plain = parsed({}).given;
  CHECK(plain.sizes == std::vector<std::size_t>{32 << 20});
  CHECK(plain.compared.size() == 7);
  CHECK(plain.compared.front() == 256 << 10);
  CHECK(parsed({"-b", "64M"}).given.sizes == std::vector<std::size_t>{64 << 20});
  CHECK(plain.nccl);
  CHECK_FALSE(parsed({"--same-device", "4"}).given.nccl);
  CHECK(parsed({"--algorithm", "two_shot"}).given.algorithm == comm::algorithm::two_shot);
  CHECK(parsed({"--quick"}).given.sizes.back() <= 1 << 20);
  CHECK_THAT(parsed({"--help"}).out,
             contains("--minbytes") && contains("--same-device") && contains("Exit codes"));
}

TEST_CASE("options that make no sense are refused in one line", "[examples]") {
  for (auto const& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"-b", "2M", "-e", "1M"}, "-b 2M"},
           {{"-b", "much"}, "-b: 'much'"},
           {{"-f", "1"}, "-f 1"},
           {{"-g", "-1"}, "-g -1"},
           {{"-g", "9"}, "-g 9"},
           {{"-n", "0"}, "-n 0"},
           {{"-w", "-1"}, "-w -1"},
           {{"--host"}, "--host"},
           {{"-R", "1"}, "-R 1"},
           {{"-d", "double"}, "unknown -d 'double'"},
           {{"-o", "prod"}, "unknown -o 'prod'"},
           {{"--algorithm", "ring"}, "unknown --algorithm 'ring'"},
           {{"--table-only", "--text", "x.txt"}, "--text: "},
           {{"--table-only", "--csv", "x.csv"}, "--csv: "},
           {{"-g", "1"}, "-g 1: an all-reduce takes 2"},
           {{"--same-device", "1"}, "--same-device 1: an all-reduce takes 2"},
           {{"--same-device", "2", "-g", "2"}, "--same-device 2: -g is"},
           {{"--device", "1"}, "--device 1: it is for --same-device"},
           {{"--strategy-sizes", "1M,x"}, "--strategy-sizes: 'x'"},
           {{"-b", "1", "-e", "1G", "-i", "1"}, "-i 1"},
           {{"--same-device", "9"}, "--same-device 9"}}) {
    auto const seen = parsed(words);
    INFO(seen.err);
    CHECK(seen.code == cli::bad_input);
    CHECK_THAT(seen.err, contains("error: ") && contains(told));
    CHECK(std::count(seen.err.begin(), seen.err.end(), '\n') == 1);
  }
}
