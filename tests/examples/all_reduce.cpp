// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "support/all_reduce_options.hpp"
#include "support/all_reduce_table.hpp"

#include <assay/report/json_values.hpp>

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
  made.type = "float";
  made.operation = "sum";
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

struct outcome {
  int code;
  std::string out, err;
  all_reduce_parameters given;
};

/// Variables that are set for a scope, and not set after it.
class scoped_environment {
 public:
  explicit scoped_environment(std::vector<std::pair<char const*, char const*>> all)
      : all_(std::move(all)) {
    for (auto const& [name, value] : all_) { REQUIRE(setenv(name, value, 1) == 0); }
  }
  scoped_environment(scoped_environment const&) = delete;
  scoped_environment& operator=(scoped_environment const&) = delete;
  ~scoped_environment() {
    for (auto const& [name, value] : all_) { (void)unsetenv(name); }
  }

 private:
  std::vector<std::pair<char const*, char const*>> all_;
};

/// The command line, and what it was understood as. `wrong`: an element is; `failure`: what the
/// body throws.
outcome parsed(std::vector<std::string> words, bool wrong = false, char const* failure = nullptr) {
  words.insert(words.begin(), "all_reduce");
  std::vector<char const*> argv;
  for (auto const& each : words) { argv.push_back(each.c_str()); }
  std::ostringstream out;
  std::ostringstream err;
  all_reduce_parameters seen;
  auto const body = [&](all_reduce_parameters const& given, cli::options const&) {
    seen = given;
    if (failure != nullptr) { throw std::runtime_error(failure); }
    return std::optional<measure::comparison>{};
  };
  auto const code = run_all_reduce(
      static_cast<int>(argv.size()), argv.data(), "x", body, [&] { return wrong; }, out, err);
  return {code, out.str(), err.str(), seen};
}

}  // namespace

TEST_CASE("a row is as nccl-tests prints it, byte for byte", "[examples]") {
  auto one = row(1048576, 12.34e-6, 1234.5e-6);
  one.in_place.wrong = 17;
  // 1048576 / 12.34e-6 = 84.97 GB/s, and 2 (4 - 1) / 4 of it 127.46; in place 0.849 and 1.27.
  CHECK(row_text(one, 4) ==
        "     1048576        262144     float     sum      -1"
        "    12.34   84.97  127.46       0"
        "  1234.50    0.85    1.27      17");
  CHECK(words_of(row_text(one, 4)).size() == 13);
  one.out_of_place.wrong.reset();
  one.in_place = {};
  CHECK(row_text(one, 2) ==
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
  auto const one = row(1'000'000'000, 1, 2);
  CHECK(one.algorithm_bandwidth(one.out_of_place) == Approx(1));
  CHECK(one.bus_bandwidth(one.out_of_place, 2) == Approx(1));
  CHECK(one.bus_bandwidth(one.out_of_place, 4) == Approx(1.5));
  CHECK(one.bus_bandwidth(one.in_place, 8) == Approx(0.875));
  CHECK(one.bus_bandwidth(one.out_of_place, 1) == 0);
}

TEST_CASE("heading and footer are as nccl-tests has them", "[examples]") {
  all_reduce_table table;
  table.ranks = 2;
  table.rows = {row(1'000'000, 1e-5, 2e-5), row(2'000'000, 1e-5, 1e-5)};
  table.heading.engine = "comm::all_reduce";
  table.heading.threads = 2;
  table.heading.min_bytes = 1'000'000;
  table.heading.max_bytes = 2'000'000;
  table.heading.iterations = 50;
  table.heading.graphs = 3;
  table.heading.ranks = {{1, 4711, "host", 5, 0, 0x1b, 0, "NVIDIA H200"}};
  std::ostringstream out;
  print_table(out, table);
  auto const lines = lines_of(out.str());
  REQUIRE(lines.size() == 14);
  CHECK(lines[0] == "# Engine: comm::all_reduce");
  CHECK(lines[1] ==
        "# nThread 2 nGpus 1 minBytes 1000000 maxBytes 2000000 step: 2(factor) warmup iters: 1 "
        "iters: 50 agg iters: 1 validation: 1 graph: 3 unalign: 0");
  CHECK(lines[3] == "# Using devices");
  CHECK(lines[4] ==
        "#  Rank  1 Group  0 Pid   4711 on       host device  5 [0000:1b:00] NVIDIA H200");
  CHECK(lines[7] ==
        "#       size         count      type   redop    root"
        "     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong");
  CHECK(words_of(lines[8]) == std::vector<std::string>{"#", "(B)", "(elements)", "(us)", "(GB/s)",
                                                       "(GB/s)", "(us)", "(GB/s)", "(GB/s)"});
  CHECK(lines[7].size() == row_text(table.rows[0], 2).size());
  CHECK(lines[8].size() == lines[7].size());
  CHECK_THAT(lines[6], contains("out-of-place") && contains("in-place"));
  CHECK(lines[11] == "# Out of bounds values : 0 OK");
  // 100, 50, 200 and 200 GB/s.
  CHECK(lines[12] == "# Avg bus bandwidth    : 137.5");
  // What is not a comment has 13 fields, as those who parse nccl-tests expect.
  for (auto const& line : lines) {
    if (!line.empty() && line[0] != '#') { CHECK(words_of(line).size() == 13); }
  }
}

TEST_CASE("the footer counts what is wrong, and asks for a least bandwidth", "[examples]") {
  std::vector<all_reduce_row> rows{row(1'000'000, 1e-5, 1e-5)};
  rows[0].in_place = {};
  CHECK(footer_of(rows, 2).bus_bandwidth == Approx(100));
  CHECK(footer_of(rows, 2).right());
  CHECK(footer_of(rows, 2, 111.0).fast());
  CHECK_FALSE(footer_of(rows, 2, 112.0).fast());
  rows[0].out_of_place.wrong = 3;
  CHECK_FALSE(footer_of(rows, 2).right());
  auto more = rows;
  more.push_back(row(1'000'000, 1e-5, 1e-5));
  more.back().in_place.wrong = 4;
  CHECK(footer_of(more, 2).wrong == 7);
  std::ostringstream out;
  print_footer(out, footer_of(rows, 2, 112.0));
  CHECK(out.str() == "# Out of bounds values : 3 FAILED\n# Avg bus bandwidth    : 100 FAILED\n#\n");
  CHECK(footer_of({}, 2).bus_bandwidth == 0);

  REQUIRE(unsetenv("NCCL_TESTS_MIN_BW") == 0);
  CHECK_FALSE(least_bandwidth_of_environment());
  REQUIRE(setenv("NCCL_TESTS_MIN_BW", "350.5", 1) == 0);
  CHECK(least_bandwidth_of_environment() == 350.5);
  REQUIRE(unsetenv("NCCL_TESTS_MIN_BW") == 0);
}

TEST_CASE("tables are written as CSV and JSON, and beside each other", "[examples]") {
  all_reduce_table ours;
  ours.heading.engine = "ours, fast";
  ours.ranks = 2;
  ours.rows = {row(1024, 2e-6, 4e-6)};
  auto theirs = ours;
  theirs.heading.engine = "nccl";
  theirs.rows = {row(1024, 6e-6, 6e-6)};
  theirs.rows[0].in_place = {};
  auto const csv = tables_csv({ours, theirs});
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  CHECK_THAT(csv, contains("\"ours, fast\",2,1024,256,float,sum,out-of-place,2e-06,0.512,0.512,0"));
  auto const json = tables_json({ours, theirs});
  CHECK(json[0]["rows"][0]["in_place"]["seconds"] == 4e-6);
  CHECK_FALSE(json[1]["rows"][0].contains("in_place"));
  CHECK(json[1]["wrong"] == 0);
  std::ostringstream out;
  print_side_by_side(out, {ours, theirs});
  CHECK_THAT(out.str(), contains("   6.00 (3.00x)") && contains("   2.00") && !contains("(1.00x)"));
  for (auto const& line : lines_of(out.str())) { CHECK(line[0] == '#'); }
}

TEST_CASE("options have the letters and the meaning of nccl-tests", "[examples]") {
  auto const seen =
      parsed({"-b", "8", "-e", "1K", "-f", "2",        "-g", "2",   "-t", "2", "-n", "7",
              "-w", "3", "-c", "0",  "-d", "bfloat16", "-o", "avg", "-G", "5", "-z", "1"});
  INFO(seen.err);
  REQUIRE(seen.code == cli::ok);
  CHECK(seen.given.sizes() == std::vector<std::size_t>{8, 16, 32, 64, 128, 256, 512, 1024});
  CHECK(seen.given.ranks() == 4);
  auto const heading = seen.given.heading("e");
  CHECK(heading.iterations == 7);
  CHECK(heading.warm_up == 3);
  CHECK(heading.check == 0);
  CHECK(heading.graphs == 5);
  CHECK((heading.step == 2 && heading.step_is_factor));
  CHECK(seen.given.type == "bfloat16");

  auto const steps = parsed({"-b", "1M", "-e", "3MiB", "-i", "1M"});
  CHECK(steps.given.sizes() == std::vector<std::size_t>{1 << 20, 2 << 20, 3 << 20});
  CHECK_FALSE(steps.given.heading("e").step_is_factor);
  auto const plain = parsed({});
  CHECK(plain.given.sizes() == std::vector<std::size_t>{32 << 20});
  CHECK(plain.given.compared_bytes().size() == 7);
  CHECK(plain.given.compared_bytes().front() == 256 << 10);
  CHECK(parsed({"-b", "64M"}).given.sizes() == std::vector<std::size_t>{64 << 20});
  CHECK(parsed({"--same-device", "4"}).given.ranks() == 4);
  CHECK(parsed({"--algorithm", "two_shot"}).given.chosen_algorithm() == comm::algorithm::two_shot);
  CHECK(parsed({"--quick"}).given.sizes().back() <= 1 << 20);
  CHECK_THAT(parsed({"--help"}).out, contains("--minbytes") && contains("--same-device") &&
                                         contains("--strategy") && contains("Exit codes"));
}

TEST_CASE("options that make no sense are refused in one line", "[examples]") {
  for (auto const& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"-b", "2M", "-e", "1M"}, "-b 2M"},
           {{"-b", "much"}, "-b: 'much'"},
           {{"-f", "1"}, "-f 1"},
           {{"-g", "-1"}, "-g -1"},
           {{"-g", "9"}, "-g 9"},
           {{"-g", "3", "-t", "3"}, "-g x -t 9"},
           {{"-n", "0"}, "-n 0"},
           {{"-w", "-1"}, "-w -1"},
           {{"-z", "2"}, "-z 2"},
           {{"--host"}, "--host"},
           {{"-R", "1"}, "-R 1"},
           {{"-d", "double"}, "unknown -d 'double'"},
           {{"-o", "prod"}, "unknown -o 'prod'"},
           {{"--strategy", "tma"}, "unknown --strategy 'tma'"},
           {{"--algorithm", "ring"}, "unknown --algorithm 'ring'"},
           {{"--strategy", "bulk"}, "--strategy bulk: of --algorithm automatic"},
           {{"--strategy", "bulk", "--algorithm", "fifo_one_shot"}, "name pull or two_shot"},
           {{"--table-only", "--text", "x.txt"}, "--text: "},
           {{"-g", "1"}, "-g 1 -t 1: an all-reduce takes 2"},
           {{"--same-device", "1"}, "--same-device 1: an all-reduce takes 2"},
           {{"-t", "2"}, "-t 2: name by -g"},
           {{"--same-device", "2", "-g", "2"}, "--same-device 2: -g and -t"},
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

TEST_CASE("one of several processes is told what it does not do", "[examples]") {
  scoped_environment const launched{
      {{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "localhost"}}};
  auto const plain = parsed({"-b", "1K", "-e", "1M", "-f", "4", "-R", "2", "-d", "bfloat16"});
  INFO(plain.err);
  CHECK(plain.code == cli::ok);
  REQUIRE(plain.given.job);
  CHECK(plain.given.job->rank == 1);
  for (auto const* name : {"-g", "--algorithm", "--same-device", "--sweep-size", "--seed"}) {
    auto const seen = parsed({name, "2"});
    INFO(seen.err);
    CHECK(seen.code == cli::bad_input);
    CHECK_THAT(seen.err, contains(std::string{name} + ": torchrun started") &&
                             contains("rank 1 of 4") && contains("start it alone"));
  }
  CHECK_THAT(parsed({"--stats"}).err, contains("--stats: torchrun"));
}

TEST_CASE("a process that a launcher started alone is like any other", "[examples]") {
  scoped_environment const launched{
      {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "localhost"}}};
  auto const seen = parsed({"--algorithm", "pull"});
  CHECK(seen.code == cli::ok);
  CHECK_FALSE(seen.given.job);
}

TEST_CASE("a wrong element makes the exit code 1", "[examples]") {
  CHECK(parsed({}, true).code == cli::wrong_answer);
  CHECK(parsed({"-o", "max"}, true, "the strategies failed").code == cli::wrong_answer);
  CHECK(parsed({"-o", "max"}, false, "the strategies failed").code == cli::failed);
  CHECK(parsed({}, false).code == cli::ok);
  CHECK(parsed({"-z", "2"}, true).code == cli::bad_input);
}
