// SPDX-License-Identifier: Apache-2.0
#include "support/overlap.hpp"
#include "catch.hpp"

#include <assay/report/json_values.hpp>

#include <cmath>
#include <sstream>

using namespace assay;
using namespace assay::examples;
using assay::test::contains;

namespace {

constexpr double mib = 0x1p20;

overlap_row row(std::string transfer, double bytes, double seconds) {
  overlap_row made;
  made.transfer = std::move(transfer);
  made.bytes = bytes;
  made.seconds = seconds;
  made.link_seconds = 1e-3;
  made.kernel_seconds = 1e-4;
  made.serial_seconds = 1.8e-3;
  return made;
}

struct outcome {
  int code;
  std::string out, err;
};

/// The program's host half, as its command line says.
outcome run(std::vector<std::string> words) {
  words.insert(words.begin(), "overlap");
  std::vector<char const*> argv;
  for (auto const& each : words) { argv.push_back(each.c_str()); }
  std::ostringstream out;
  std::ostringstream err;
  auto const code = run_overlap(
      static_cast<int>(argv.size()), argv.data(), "the host half", [](auto&) {}, overlap_on_host,
      out, err);
  return {code, out.str(), err.str()};
}

}  // namespace

TEST_CASE("each row says which limit holds it", "[examples]") {
  auto const said = [&](std::string const& transfer, double seconds, auto const&... change) {
    auto made = row(transfer, 64 * mib, seconds);
    (change(made), ...);
    return limit_of(made);
  };
  auto const heavy = [](overlap_row& of) { of.kernel_seconds = 5e-3, of.serial_seconds = 6.7e-3; };
  CHECK_THAT(said("transfer::pageable", 8e-3), contains("host copy: the driver"));
  CHECK_THAT(said("transfer::pageable", 1.9e-3), contains("one way at a time"));
  CHECK_THAT(said("transfer::staged", 3e-3), contains("host copy: threads"));
  CHECK_THAT(said("transfer::staged", 1.9e-3), contains("one way at a time"));
  CHECK_THAT(said("transfer::mapped", 1.05e-3), contains("the link, both ways"));
  CHECK_THAT(said("transfer::mapped", 2e-3), contains("own loads and stores"));
  CHECK_THAT(said("transfer::pinned", 1.8e-3), contains("one way at a time"));
  CHECK_THAT(said("transfer::pinned", 6.7e-3, heavy), contains("the kernel, with no copy"));
  CHECK(said("transfer::overlapped", 1.03e-3) == "the link, both ways at once");
  CHECK(said("transfer::overlapped", 5.1e-3, heavy) == "the kernel");
  auto const cut = [](std::size_t chunks) {
    return [=](overlap_row& of) { of.chunks = chunks, of.chunk_seconds = 4e-6; };
  };
  CHECK_THAT(said("transfer::overlapped", 1.25e-3, cut(4)), contains("filling and draining"));
  CHECK_THAT(said("transfer::overlapped", 1.25e-3, cut(64)), contains("chunk overhead: 256.0 us"));
  CHECK_THAT(said("transfer::overlapped", 3e-3, cut(14)), contains("starting"));
}

TEST_CASE("a transfer pays from the size on from which it is always faster", "[examples]") {
  std::vector<overlap_row> rows;
  auto const add = [&](double size, double staged, double pageable) {
    rows.push_back(row("transfer::staged", size * mib, staged));
    rows.push_back(row("transfer::pageable", size * mib, pageable));
  };
  add(1, 2, 1);
  add(2, 1, 2);  // a dip: not yet
  add(4, 3, 2);
  add(8, 2, 3);
  add(16, 4, 6);
  CHECK(break_even(rows, "transfer::staged", "transfer::pageable") == 8 * mib);
  CHECK(break_even(rows, "transfer::pageable", "transfer::staged") == 0);
  CHECK(break_even(rows, "transfer::staged", "transfer::mapped") == 0);
}

TEST_CASE("page-locking once pays after as many uses as its cost takes to come back",
          "[examples]") {
  // 512 MiB each way are 1 GiB to lock: 1 s; each use saves 0.25 s.
  auto const slow = row("transfer::pageable", 512 * mib, 0.75);
  auto const fast = row("transfer::overlapped", 512 * mib, 0.5);
  CHECK(uses_to_pay(slow, fast, 1) == 4);
  CHECK(uses_to_pay(slow, fast, 1.01) == 5);
  CHECK(uses_to_pay(slow, fast, 1e-9) == 1);
  CHECK(uses_to_pay(fast, slow, 0.4) == 0);
  std::vector<overlap_row> const rows{row("transfer::overlapped", mib, 0.05),
                                      row("transfer::pageable", mib, 0.0507)};
  auto const lines = break_even_lines(rows, {0.06, 0.4});
  // 2 MiB cost 0.117 ms to register and 0.78 ms to allocate; each use saves 0.7 ms.
  CHECK_THAT(lines.back(), contains("from use 1 on") && contains("from use 2 on"));
  CHECK_THAT(lines.front(), contains("at no size"));
  auto const against_mapped = break_even_lines(
      {row("transfer::overlapped", mib, 2e-4), row("transfer::mapped", mib, 1e-4),
       row("transfer::overlapped", 2 * mib, 2e-4), row("transfer::mapped", 2 * mib, 3e-4)},
      {});
  CHECK_THAT(against_mapped[1], contains("transfer::overlapped is faster than transfer::mapped "
                                         "from 2.00 MiB") &&
                                    contains("reads each byte once"));
}

TEST_CASE("rows and cells are written as table, CSV and JSON", "[examples]") {
  auto one = row("transfer::overlapped", 64 * mib, 1.25e-3);
  one.overlap = 0.8;
  auto const two = row("transfer::mapped", 64 * mib, 2e-3);
  std::vector<sweep_cell> const cells{
      {64 * mib, 4, 2, 2e-3, 1e-3}, {64 * mib, 8, 2, 1.25e-3, 1e-3}, {mib, 8, 2, 1e-6, 1e-6}};
  std::ostringstream text;
  print_rows(text, {one, two});
  CHECK_THAT(text.str(), contains("64.0 MiB  transfer::overlapped") && contains("80.0 %") &&
                             contains("53.7 GB/s"));
  std::ostringstream map;
  print_sweep(map, cells, 64 * mib);
  CHECK_THAT(map.str(), contains("50.0 %") && contains("80.0 %") && !contains("100"));
  REQUIRE(best_cell(cells, 64 * mib) != nullptr);
  CHECK(best_cell(cells, 64 * mib)->chunks == 8);
  CHECK(best_cell(cells, 2 * mib) == nullptr);

  auto const csv = rows_csv({one, two});
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
  CHECK_THAT(csv, contains("transfer::overlapped,67108864,0.00125,") && contains(",0.8,0.8,"));
  CHECK_THAT(sweep_csv(cells), contains("67108864,8,2,0.00125,0.001,0.8"));
  auto const json = curves_json({one, two}, cells, {0.06, 0.4});
  CHECK(json["transfers"][0]["share_of_bound"].get<double>() == Approx(0.8));
  CHECK(json["transfers"][1]["overlap"].is_null());
  CHECK(json["sweep"].size() == 3);
  CHECK(json["pinning"]["allocate_seconds_per_gib"] == 0.4);
}

TEST_CASE("overlap by events and by the timeline stand side by side, and are judged",
          "[examples]") {
  auto near = row("transfer::overlapped", 512 * mib, 11e-3);
  near.link_seconds = 10e-3;
  near.chunks = 10;  // of 1 ms
  near.overlap = 0.9;
  near.timeline_overlap = 0.885;
  near.traced_overlap = 0.9;
  auto far = near;
  far.transfer = "transfer::staged";
  far.timeline_overlap = 0.95;
  auto fine = far;
  fine.chunks = 100;  // too short to be judged
  auto const unknown = row("transfer::mapped", 512 * mib, 11e-3);
  CHECK(near.overlap_difference() == Approx(0.015));
  CHECK(std::isnan(unknown.overlap_difference()));

  auto const said = overlap_agreement({near, far, fine, unknown}, "");
  REQUIRE(said.lines.size() == 1);
  CHECK_THAT(said.lines[0], contains("1 of 2 rows") && contains("is -5.0 % (transfer::staged"));
  CHECK_THAT(overlap_agreement({near}, "").lines.at(0), contains("1 of 1 rows"));
  auto const without = overlap_agreement({unknown}, "no tracer here");
  REQUIRE(without.lines.size() == 1);
  CHECK_THAT(without.lines[0], contains("no tracer here"));

  std::ostringstream text;
  print_rows(text, {near, unknown});
  CHECK_THAT(text.str(), contains("by timeline") && contains("(+1.5)"));
  CHECK_THAT(rows_csv({near, unknown}), contains(",0.9,0.885,0.9,10,") && contains(",,,,1,"));
  auto const json = curves_json({near, unknown}, {}, {});
  CHECK(json["transfers"][0]["timeline_overlap"].get<double>() == Approx(0.885));
  CHECK(json["transfers"][1]["traced_overlap"].is_null());
}

TEST_CASE("the program refuses what makes no sense in one line", "[examples]") {
  for (auto const& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--flops", "3"}, "--flops 3"},
           {{"--repetitions", "0"}, "--repetitions 0"},
           {{"--max-bytes", "1KiB"}, "--max-bytes 1024"},
           {{"--max-bytes", "much"}, "--max-bytes: 'much'"},
           {{"--compare-bytes", "64GiB"}, "--compare-bytes 68719476736"},
           {{"--max-bytes", "8MiB", "--sweep-bytes", "4MiB,1B"}, "--sweep-bytes 1"}}) {
    auto const seen = run(words);
    INFO(seen.err);
    CHECK(seen.code == cli::bad_input);
    CHECK_THAT(seen.err, contains("error: ") && contains(told));
    CHECK(std::count(seen.err.begin(), seen.err.end(), '\n') == 1);
  }
}

TEST_CASE("sizes double up to the largest, and sweeps beyond it are left out", "[examples]") {
  overlap_parameters given;
  given.max = "8MiB";
  given.sweep = {"4MiB", "64MiB"};
  CHECK(given.sizes() == std::vector<std::size_t>{1 << 20, 2 << 20, 4 << 20, 8 << 20});
  CHECK(given.sweep_bytes() == std::vector<std::size_t>{4 << 20});
}

TEST_CASE("the host half gives verdicts on the sum of two arrays", "[examples]") {
  auto const seen = run({"--host", "--quick", "--compare-bytes", "1MiB", "--epochs", "8"});
  INFO(seen.err);
  CHECK(seen.code == cli::ok);
  CHECK_THAT(seen.out, contains("Adding two arrays on the CPU") && contains("on::host{1}"));
  CHECK(run({"--host", "--list"}).code == cli::ok);
}
