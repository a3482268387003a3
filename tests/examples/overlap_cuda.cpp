// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "cli/outcome.hpp"
#include "overlap/options.hpp"
#include "overlap/report.hpp"

#include <assay/cli/run.hpp>

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
  examples::link_ceilings ceilings;
  ceilings.register_seconds_per_gib = 0.05;
  ceilings.unregister_seconds_per_gib = 0.01;
  ceilings.allocate_seconds_per_gib = 0.3;
  ceilings.free_seconds_per_gib = 0.1;
  auto const lines = break_even_lines(rows, ceilings);
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

TEST_CASE("rows are printed with their overlap, where it was traced", "[examples]") {
  auto one = row("transfer::overlapped", 64 * mib, 1.25e-3);
  one.overlap = 0.75;
  std::ostringstream text;
  print_rows(text, {one, row("transfer::mapped", 64 * mib, 2e-3)});
  CHECK_THAT(text.str(), contains("64.0 MiB  transfer::overlapped") && contains("80.0 %") &&
                             contains("53.7 GB/s") && contains("75 %") && contains("-"));
}

TEST_CASE("two and three stages at once overlap, gaps and other devices do not", "[examples]") {
  trace::model of;
  CHECK(std::isnan(overlap_share(of, 0)));
  auto const kernel = [&](std::int32_t device, trace::span when) {
    of.kernels.emplace_back().when = when;
    of.kernels.back().where.device = device;
  };
  auto const copy = [&](std::int32_t device, trace::copy_kind kind, trace::span when) {
    of.copies.emplace_back().when = when;
    of.copies.back().where.device = device;
    of.copies.back().kind = kind;
  };
  using enum trace::copy_kind;
  // in  [0,40)    [50,60)
  // run    [10,20)          [70,80)
  // out       [15,35)
  copy(0, host_to_device, {0, 40});
  copy(0, host_to_device, {50, 60});
  kernel(0, {70, 80});
  CHECK(overlap_share(of, 0) == 0);
  kernel(0, {10, 20});
  copy(0, device_to_host, {15, 35});
  CHECK(overlap_share(of, 0) == Approx(25.0 / 60));
  // Several streams queue for one engine: a stage does not overlap itself.
  copy(0, host_to_device, {5, 30});
  kernel(1, {0, 100});
  copy(1, host_to_device, {0, 100});
  copy(0, device_to_device, {0, 100});
  CHECK(overlap_share(of, 0) == Approx(25.0 / 60));
}

TEST_CASE("the program refuses what makes no sense in one line", "[examples]") {
  for (auto const& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--flops", "3"}, "--flops 3"},
           {{"--max-bytes", "1KiB"}, "--max-bytes 1024"},
           {{"--max-bytes", "much"}, "--max-bytes: 'much'"},
           {{"--compare-bytes", "64GiB"}, "--compare-bytes 68719476736"}}) {
    auto const seen = run(words);
    INFO(seen.err);
    CHECK(seen.code == cli::bad_input);
    CHECK_THAT(seen.err, contains("error: ") && contains(told));
    CHECK(std::count(seen.err.begin(), seen.err.end(), '\n') == 1);
  }
}

TEST_CASE("the host half gives verdicts on the sum of two arrays", "[examples]") {
  auto const seen = run({"--host", "--quick", "--compare-bytes", "1MiB", "--epochs", "8"});
  INFO(seen.err);
  CHECK(seen.code == cli::ok);
  CHECK_THAT(seen.out, contains("Adding two arrays on the CPU") && contains("on::host{1}"));
  CHECK(run({"--host", "--list"}).code == cli::ok);
}
