// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
// The intervals of `paired_difference` hold constructed truths as often as they claim.
#include "catch.hpp"

#include "golden.hpp"

#include <assay/report/explanation.hpp>
#include <assay/report/format.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/explanation.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::test::golden;
using assay::test::contains;
using assay::test::message_of;

namespace {

constexpr double copy_ns = 2'000;
constexpr double allocation_ns = 3'000;
constexpr int pairs = 12;
constexpr int draws = 200;

/// The rows on a terminal that the printed reasons take.
std::ptrdiff_t rows_of(std::vector<std::string> const& lines) {
  std::ptrdiff_t rows = 0;
  for (auto const& each : lines) {
    rows += std::ranges::count(report::wrapped(each, "  - ", "    "), '\n');
  }
  return rows;
}

/// What the batches of a variant do, and how far their times scatter.
struct recipe {
  int kernels = 6;
  int copies = 2;
  double scatter = 0.05;  ///< standard deviation of each time, as a share
  int allocations = 0;    ///< while the device waits
  double tracer = 0;      ///< adds this share to the allocations of a traced batch
  double elsewhere = 0;   ///< ns that a tracer adds to the pause of the host
  bool measured = false;  ///< an untraced batch beside each
};

/// A batch in one stream: kernels, a pause of the host, then copies. `pace` scales all its times.
model batch(recipe const& of, double pace, std::mt19937_64& random, bool traced = true) {
  std::normal_distribution<double> normal{1, of.scatter};
  auto const about = [&](double ns) { return std::llround(ns * pace * normal(random)); };
  builder b;
  std::int64_t at = 0;
  b.call("cudaMallocAsync_v11020", {at, at + about(300)});
  at += 400;
  auto device = at + 1'000;
  for (int i = 0; i < of.kernels; ++i) {
    auto const length = about(5'000);
    b.launch(i % 2 == 0 ? "gemm" : "relu", {at, at + 100}, {device, device + length});
    at += 120;
    device += length;
  }
  at = device + about(900 + (traced ? of.elsewhere : 0));  // the host is late
  for (int i = 0; i < of.allocations; ++i) {
    auto const length = about(allocation_ns * (traced ? 1 + of.tracer : 1));
    b.call("cudaMalloc_v3020", {at, at + length});
    at += length;
  }
  device = at + 500;
  for (int i = 0; i < of.copies; ++i) {
    auto const length = about(copy_ns);
    b.launch_copy(copy_kind::host_to_device, 4'096, {at, at + 100}, {device, device + length});
    at += 120;
    device += length;
  }
  return b.trace;
}

/// Measures what tracing added, by an untraced batch.
void add_tracing(run_breakdown& traced, recipe const& of, double pace, std::mt19937_64& random) {
  if (!of.measured) { return; }
  auto const beside = batch(of, pace, random, false);
  traced.tracing_ns = traced.ns - static_cast<double>(run_extent(beside).length());
}

/// An explanation from pairs of batches. The pace drifts from pair to pair.
explanation explained(recipe const& control, recipe const& variant, int count,
                      std::mt19937_64& random, time_difference const& time) {
  std::normal_distribution<double> drift{1, 0.03};
  variant_evidence first, second;
  first.label = "old";
  second.label = "new";
  for (int i = 0; i < count; ++i) {
    auto const pace = drift(random);
    first.trace = batch(control, pace, random);
    second.trace = batch(variant, pace, random);
    first.batches.push_back(breakdown_of({first.trace}));
    second.batches.push_back(breakdown_of({second.trace}));
    add_tracing(first.batches.back(), control, pace, random);
    add_tracing(second.batches.back(), variant, pace, random);
  }
  return explain_traces(std::move(first), std::move(second), time);
}

change const* find(trace_difference const& in, entry_kind what, std::string const& name) {
  for (auto const& each : in.changes) {
    if (each.what == what && each.name == name) { return &each; }
  }
  return nullptr;
}

std::string joined(std::vector<std::string> const& lines) {
  std::string all;
  for (auto const& line : lines) { all += line + "\n"; }
  return all;
}

}  // namespace

TEST_CASE("the interval of extra copies holds their time, and those of all else hold zero") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  constexpr int extra = 3;
  int held = 0, narrow = 0, all_zero = 0;
  for (int draw = 0; draw < draws; ++draw) {
    auto const found =
        explained({}, {.copies = 2 + extra}, pairs, random, {extra * copy_ns}).changes;
    REQUIRE(found.pairs == pairs);
    CHECK(found.confidence >= 0.95);
    auto const* copies = find(found, entry_kind::copy, "Host-to-Device");
    REQUIRE(copies != nullptr);
    auto const& delta = copies->delta;
    held += delta.low <= extra * copy_ns && extra * copy_ns <= delta.high ? 1 : 0;
    narrow += delta.half_width() < 0.1 * extra * copy_ns ? 1 : 0;
    all_zero += std::ranges::none_of(found.changes, [](change const& each) {
      return each.what != entry_kind::copy && each.distinguishable();
    });
  }
  CHECK(held >= 0.9 * draws);
  CHECK(narrow >= 0.9 * draws);
  CHECK(all_zero >= 0.9 * draws);
}

TEST_CASE("equal variants have no part that is distinguishable from zero") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  int named = 0;
  for (int draw = 0; draw < draws; ++draw) {
    auto const found = explained({}, {}, pairs, random, {0}).changes;
    named += std::ranges::any_of(found.changes,
                                 [](change const& each) { return each.distinguishable(); });
  }
  CHECK(named <= 0.08 * draws);  // pairs allow only some levels: about 3 % are expected
}

// With three batches to an opening, in the order A B B A, intervals of 96 % held in 79 to 89 %.
TEST_CASE(
    "batches with openings of their own in a drawn order hold the truth also where it drifts") {
  std::mt19937_64 random{7};  // fixed: an interval may miss by chance
  std::normal_distribution<double> normal;
  constexpr int trials = 400;
  for (double const remembers : {0.0, 0.5, 0.9}) {
    for (double const opening : {0.0, 1.5}) {  // how far openings scatter, in that of batches
      for (double const drift : {0.0, 0.2}) {  // from one batch to the next
        int holds = 0;
        for (int trial = 0; trial < trials; ++trial) {
          std::array<std::vector<run_breakdown>, 2> sides;
          double noise = normal(random);
          for (int batch = 0; batch < 2 * pairs; batch += 2) {
            auto const first = random() % 2;
            for (auto const side : {first, 1 - first}) {
              noise = remembers * noise + std::sqrt(1 - remembers * remembers) * normal(random);
              auto const drifted = drift * (batch + (side != first ? 1 : 0));
              auto const ns =
                  1000 + noise + opening * normal(random) + drifted + (side == 1 ? 3 : 0);
              sides[side].emplace_back().ns = ns;
            }
          }
          auto const found = paired_difference(sides[0], sides[1]);
          holds += found.traced.low <= 3 && 3 <= found.traced.high;
        }
        INFO(remembers << " " << opening << " " << drift);
        CHECK(holds >= 0.95 * trials);
      }
    }
  }
}

TEST_CASE("parts sum up to the traced difference in each pair of batches") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  auto const found = explained({}, {.copies = 4}, 8, random, {4'000}).changes;
  std::vector<change const*> parts;
  for (auto const& each : found.changes) { parts.push_back(&each); }
  auto const sum = sum_of(parts, found);
  CHECK(sum.estimate == Approx(found.traced.estimate).margin(1e-3));
  CHECK(sum.low == Approx(found.traced.low).margin(1e-3));
  CHECK(sum.high == Approx(found.traced.high).margin(1e-3));
}

TEST_CASE(
    "what tracing added is taken off, and the intervals hold what the host takes without it") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  constexpr int calls = 4;
  constexpr double truth = calls * allocation_ns;
  for (double const tracer : {0.0, 0.05, 0.4}) {
    INFO("a tracer adds " << tracer);
    recipe const control{.scatter = 0.02, .measured = true};
    recipe const variant{.scatter = 0.02, .allocations = calls, .tracer = tracer, .measured = true};
    int held = 0, taken = 0, others = 0;
    std::vector<double> errors;
    for (int draw = 0; draw < draws; ++draw) {
      auto const found = explained(control, variant, pairs, random, {truth}).changes;
      REQUIRE(found.tracing_measured);
      auto const told = sum_of(entry_kind::allocation, found);
      held += told.low <= truth && truth <= told.high;
      taken += found.tracing_taken();
      others += std::ranges::any_of(found.changes, [](change const& each) {
        return each.what != entry_kind::allocation && each.distinguishable();
      });
      errors.push_back(told.estimate / truth - 1);
    }
    std::ranges::sort(errors);
    CHECK(held >= 0.9 * draws);
    CHECK(others <= 0.1 * draws);
    if (tracer == 0) { CHECK(taken <= 0.05 * draws); }
    if (tracer == 0.4) { CHECK(taken >= 0.9 * draws); }
    if (tracer != 0.05) { CHECK(std::abs(errors[draws / 2]) < 0.02); }
  }
}

TEST_CASE("intervals hold the truth where tracing delays other parts than the model says") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  constexpr int calls = 4;
  constexpr double truth = calls * allocation_ns;
  recipe const control{.scatter = 0.02, .measured = true};
  recipe const variant{
      .scatter = 0.02, .allocations = calls, .elsewhere = 0.08 * truth, .measured = true};
  int held = 0, taken = 0;
  for (int draw = 0; draw < draws; ++draw) {
    auto const found = explained(control, variant, pairs, random, {truth}).changes;
    auto const told = sum_of(entry_kind::allocation, found);
    held += told.low <= truth && truth <= told.high;
    taken += found.tracing_taken();
  }
  CHECK(taken >= 0.9 * draws);
  CHECK(held >= 0.9 * draws);
}

TEST_CASE("equal variants stay equal where tracing is measured beside them") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  recipe const same{.allocations = 2, .tracer = 0.4, .measured = true};
  int named = 0;
  for (int draw = 0; draw < draws; ++draw) {
    auto const found = explained(same, same, pairs, random, {0}).changes;
    named += std::ranges::any_of(found.changes,
                                 [](change const& each) { return each.distinguishable(); });
  }
  CHECK(named <= 0.08 * draws);
}

TEST_CASE("what tracing adds is told once, and parts without it sum up to the rest") {
  std::mt19937_64 random{7};
  auto const told = [&](double tracer) {
    recipe const control{.scatter = 0.01, .measured = true};
    recipe const variant{.scatter = 0.01, .allocations = 4, .tracer = tracer, .measured = true};
    return explained(control, variant, pairs, random, {12'000, 11'500, 12'500, "the comparison"});
  };
  auto const much = told(0.5);
  auto const lines = report::sentences(much);
  INFO(joined(lines));
  CHECK(lines.size() <= 12);
  CHECK_THAT(lines[1], contains("differ by +1") && contains("; tracing itself adds +") &&
                           contains(" taken off the waits. The parts without it, whose intervals "
                                    "hold together at 9"));
  CHECK(joined(lines).find("tracing itself adds") == joined(lines).rfind("tracing itself adds"));
  CHECK(rows_of(lines) <= 12);
  std::vector<change const*> parts;
  for (auto const& each : much.changes.changes) { parts.push_back(&each); }
  auto const sum = sum_of(parts, much.changes);
  CHECK(sum.estimate == Approx(much.changes.traced_ns() - much.changes.tracing_ns()).epsilon(0.02));
  CHECK(sum.estimate == Approx(4 * allocation_ns).epsilon(0.05));
  CHECK(much.changes.tracing_taken());

  auto const none = told(0);
  CHECK_THAT(
      joined(report::sentences(none)),
      contains("; tracing itself adds ") && contains(", not distinguishable from zero. Its parts"));
  CHECK(rows_of(report::sentences(none)) <= 12);
  auto const* calls = find(none.changes, entry_kind::allocation, "cudaMalloc");
  REQUIRE(calls != nullptr);
  auto const traced = stats::signed_rank_interval(calls->pairs, none.changes.critical_value);
  CHECK(calls->delta.estimate == traced.estimate);
  CHECK(calls->delta.half_width() > traced.half_width());
}

TEST_CASE("reasons name parts with intervals, and call the others not distinguishable from zero") {
  std::mt19937_64 random{7};
  auto const why = explained({.scatter = 0.01}, {.copies = 5, .scatter = 0.01}, pairs, random,
                             {6'000, 5'500, 6'500, "the comparison"});
  auto const lines = report::sentences(why);
  INFO(joined(lines));
  CHECK(lines.size() <= 12);
  CHECK_THAT(lines[1],
             contains("12 batches of each in turn differ by +") && contains(" hold together at 9"));
  CHECK_THAT(lines[2], contains("Devices: copies Host-to-Device: +") && contains(" us [+5.") &&
                           contains("2 -> 5 times") &&
                           contains("; copy in another stream, beside kernels."));
  CHECK(rows_of(lines) <= 12);
  CHECK_THAT(joined(lines), contains(" parts are not distinguishable from zero, together ") &&
                                contains("; tracing itself adds ") &&
                                !contains("Devices: kernel "));
  CHECK(why.changes.pairs == pairs);
}

TEST_CASE("reasons with many parts name the three largest, in at most twelve rows") {
  std::mt19937_64 random{7};
  recipe const variant{.kernels = 12, .copies = 5, .scatter = 0.01, .allocations = 4};
  auto why = explained({.scatter = 0.01}, variant, pairs, random,
                       {60'000, 59'000, 61'000, "the comparison (wall clock)"});
  why.control.label = "mr::pool, submit::concurrent";
  why.variant.label = "mr::async, submit::serialized";
  work_bound found;
  found.limit = bound::memory;
  found.reason = "it moves what it must nearly at the rate that was measured as the limit";
  found.because = {{{quantity::required_bytes, true, 0.8}, 0.963}, {{quantity::dram}, 0.9}};
  why.control.limits = why.variant.limits = found;
  auto const lines = report::sentences(why);
  INFO(joined(lines));
  CHECK(rows_of(lines) <= 12);
  CHECK(std::ranges::count_if(lines, [](std::string const& each) {
          return each.starts_with("Devices: ") || each.starts_with("Waits: ");
        }) == 3);
  CHECK_THAT(joined(lines), contains(" smaller part") &&
                                contains("submit::serialized is memory bound: rate of what must "
                                         "move 96.3 %, at least 80.0 %.\n"));
}

TEST_CASE("a part that is small beside the control and the difference is told in a sum") {
  std::mt19937_64 random{7};
  auto const told = [&](time_difference const& time) {
    return explained({.scatter = 0.01}, {.copies = 5, .scatter = 0.01}, pairs, random, time);
  };
  auto unsure = told({6'000, -500, 12'500, "the comparison"});
  auto const& copies = unsure.changes.changes[0];
  auto const of_control = copies.delta_ns() / named_share_of_control;
  unsure.changes.control_ns = 0.999 * of_control;
  CHECK(is_named(copies, unsure.changes));
  unsure.changes.control_ns = 1.001 * of_control;
  CHECK_FALSE(is_named(copies, unsure.changes));
  CHECK_THAT(joined(report::sentences(unsure)),
             contains("1 smaller part, together +") && !contains("Devices: copies"));

  auto sure = told({6'000, 5'500, 6'500, "the comparison"});
  auto const& same = sure.changes.changes[0];
  sure.changes.control_ns = 1e9;
  CHECK(is_named(same, sure.changes));  // it is all of the difference
  sure.changes.difference_ns = 1.001 * same.delta_ns() / named_share_of_difference;
  CHECK_FALSE(is_named(same, sure.changes));
}

TEST_CASE("too few pairs have no intervals, and unequal numbers of batches are refused") {
  std::mt19937_64 random{7};
  auto const few = explained({}, {.copies = 5}, 7, random, {6'000}).changes;
  CHECK(few.confidence == 0);
  CHECK(is_named(few.changes[0], few));
  for (auto const& each : few.changes) {
    CHECK(std::isinf(each.delta.low));
    CHECK(!each.distinguishable());
  }
  auto const trace = batch({}, 1, random);
  auto const one = breakdown_of({trace});
  CHECK_THAT(message_of([&] { paired_difference({one, one}, {one}); }),
             contains("2 runs of the control and 1"));
  CHECK_THAT(message_of([&] { paired_difference({}, {}); }), contains("at least one"));
}
