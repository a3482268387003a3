// SPDX-License-Identifier: Apache-2.0
// What counters account for, on kernels whose every amount is known.
#include "catch.hpp"

#include "golden.hpp"
#include "one_pair.hpp"

#include <assay/report/explanation.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/trace/kernel_causes.hpp>

#include <cmath>
#include <random>
#include <string>
#include <vector>

using namespace assay;
using namespace assay::test::golden;
using assay::test::contains;
using assay::test::difference;

namespace {

/// A launch as its counters would tell it.
struct counted_launch {
  double ns = 1000;
  double sm_active = 1;  // shares of 1
  double occupancy = 0.5;
  double hertz = 1e9;
  double ipc = 1;
  double dram_share = 0.9;
  double dram_bytes = 4e6;
  double l2_bytes = 8e6;
};

counter_range values(counter_range into, counted_launch const& of) {
  auto const add = [&](std::string_view name, double value) {
    into.values.push_back({std::string{name}, value});
  };
  add(metric::gpu_time, of.ns);
  add(metric::sm_active, 100 * of.sm_active);
  add(metric::occupancy, 100 * of.occupancy);
  add(metric::sm_clock, of.hertz);
  add(metric::ipc, of.ipc);
  add(metric::dram_share, 100 * of.dram_share);
  add(metric::dram_read, of.dram_bytes / 4);
  add(metric::dram_write, of.dram_bytes * 3 / 4);
  if (!std::isnan(of.l2_bytes)) { add(metric::l2_bytes, of.l2_bytes); }
  return into;
}

counter_range launch(counted_launch const& of) { return values({}, of); }

/// A run in which each kernel takes as long as told, back to back.
model run_of(std::vector<std::pair<std::string, std::int64_t>> const& kernels) {
  builder b;
  b.device(0);
  std::int64_t at = 1000;
  for (auto const& [name, length] : kernels) {
    b.launch(name, {at - 1000, at - 900}, {at, at + length});
    at += length;
  }
  return b.trace;
}

kernel_totals amounts(counted_launch const& of) { return totals_of(launch(of)); }

double part(kernel_change const& in, kernel_cause what) {
  for (auto const& each : in.causes) {
    if (each.what == what) { return each.ns; }
  }
  return 0;
}

double sum(kernel_change const& of) {
  auto all = of.unexplained_ns;
  for (auto const& each : of.causes) { all += each.ns; }
  return all;
}

/// One kernel "k", launched once, in the batch as long as alone.
kernel_change one(counted_launch const& control, counted_launch const& variant) {
  auto const c = run_of({{"k", static_cast<std::int64_t>(control.ns)}});
  auto const v = run_of({{"k", static_cast<std::int64_t>(variant.ns)}});
  auto const found = difference(c, v, variant.ns - control.ns);
  auto const all = explain_kernels(found, {{"k", amounts(control)}}, {{"k", amounts(variant)}});
  REQUIRE(all.size() == 1);
  CHECK(sum(all[0]) == Approx(variant.ns - control.ns).margin(1e-6));
  return all[0];
}

}  // namespace

TEST_CASE("amounts of a launch are its time times its shares, and add up") {
  auto const of =
      amounts({.ns = 2000, .sm_active = 0.5, .occupancy = 0.25, .hertz = 2e9, .ipc = 3});
  CHECK(of.active_ns == Approx(1000));
  CHECK(of.warp_ns == Approx(250));
  CHECK(of.cycles == Approx(2000));
  CHECK(of.instructions == Approx(6000));
  CHECK(of.dram_busy_ns == Approx(1800));
  CHECK((of.dram_bytes == 4e6 && of.l2_bytes == 8e6 && of.launches == 1));
  auto twice = of;
  twice.add(of, 3);
  CHECK((twice.launches == 4 && twice.dram_bytes == 16e6));
}

TEST_CASE("twice the bytes at the same rate are all of twice the time") {
  auto const found = one({}, {.ns = 2000, .dram_bytes = 8e6, .l2_bytes = 16e6});
  CHECK(found.by_memory);
  CHECK(part(found, kernel_cause::l2_bytes) == Approx(1000));
  CHECK(found.causes.size() == 1);
  CHECK(found.unexplained_ns == Approx(0).margin(1e-6));
}

TEST_CASE("bytes that the L2 cache no longer serves are misses, not traffic") {
  auto const found = one({}, {.ns = 2000, .dram_bytes = 8e6, .l2_bytes = 8e6});
  CHECK(part(found, kernel_cause::l2_misses) == Approx(1000));
  CHECK(part(found, kernel_cause::l2_bytes) == 0);
  auto const unknown =
      one({.l2_bytes = std::nan("")}, {.ns = 2000, .dram_bytes = 8e6, .l2_bytes = std::nan("")});
  CHECK(part(unknown, kernel_cause::dram_bytes) == Approx(1000));
  CHECK(unknown.causes.size() == 1);
}

TEST_CASE("SMs that stand idle account for the time that the rest takes longer") {
  auto const found = one({}, {.ns = 2000, .sm_active = 0.5});
  CHECK(part(found, kernel_cause::sms_active) == Approx(1000));
  CHECK(found.unexplained_ns == Approx(0).margin(1e-6));
}

TEST_CASE("occupancy accounts for a pace that changed with it, and for no more than that") {
  // Half the warps, half the rate.
  auto const all = one({.occupancy = 0.8}, {.ns = 2000, .occupancy = 0.4});
  CHECK(part(all, kernel_cause::occupancy) == Approx(1000));
  CHECK(all.unexplained_ns == Approx(0).margin(1e-6));
  // A quarter of the warps, but half the rate: one factor of two alone changed the time.
  auto const most = one({.occupancy = 0.8}, {.ns = 2000, .occupancy = 0.2});
  CHECK(part(most, kernel_cause::occupancy) == Approx(1000));
  // More warps and a lower rate: they are not why.
  auto const none = one({.occupancy = 0.4}, {.ns = 2000, .occupancy = 0.8});
  CHECK(none.causes.empty());
  CHECK(none.unexplained_ns == Approx(1000));
  // sqrt(2) less, of a factor of two: half of the change on the logarithmic scale.
  auto const half = one({.occupancy = 0.8}, {.ns = 2000, .occupancy = 0.8 / std::sqrt(2.0)});
  CHECK(part(half, kernel_cause::occupancy) == Approx(500));
  CHECK(half.unexplained_ns == Approx(500));
}

TEST_CASE(
    "where issue slots are needed more than DRAM, instructions and the clock are what counts") {
  counted_launch const control{.ipc = 3.6, .dram_share = 0.1};
  auto const more = one(control, {.ns = 2000, .ipc = 3.6, .dram_share = 0.1, .dram_bytes = 8e7});
  CHECK_FALSE(more.by_memory);
  CHECK(part(more, kernel_cause::instructions) == Approx(1000));
  CHECK(more.causes.size() == 1);  // ten times the bytes, and DRAM was never busy
  auto const slow = one(control, {.ns = 2000, .hertz = 5e8, .ipc = 3.6, .dram_share = 0.1});
  CHECK(part(slow, kernel_cause::sm_clock) == Approx(1000));
  auto const stalled = one(control, {.ns = 2000, .ipc = 1.8, .dram_share = 0.1});
  CHECK(stalled.causes.empty());
  CHECK(stalled.unexplained_ns == Approx(1000));
}

TEST_CASE("causes that work against each other both stand, most first, and sum up") {
  // Four times the bytes at twice the rate.
  auto const found = one({}, {.ns = 2000, .dram_bytes = 16e6, .l2_bytes = 32e6});
  CHECK(part(found, kernel_cause::l2_bytes) == Approx(2000));
  CHECK(found.unexplained_ns == Approx(-1000));
  auto const two = one({}, {.ns = 4000, .sm_active = 0.8, .dram_bytes = 8e6, .l2_bytes = 16e6});
  REQUIRE(two.causes.size() == 2);
  CHECK(two.causes[0].what == kernel_cause::l2_bytes);
  CHECK(two.causes[1].what == kernel_cause::sms_active);
  CHECK(two.causes[0].ns > two.causes[1].ns);
}

TEST_CASE("launches and contention of the batch are told apart from what counters saw alone") {
  // Alone it takes 1000 in both; in the variant's batch two run, each twice as long.
  auto const c = run_of({{"k", 1000}});
  auto const v = run_of({{"k", 2000}, {"k", 2000}});
  auto const found = difference(c, v, 3000);
  auto const all = explain_kernels(found, {{"k", amounts({})}}, {{"k", amounts({})}});
  REQUIRE(all.size() == 1);
  CHECK(part(all[0], kernel_cause::launches) == Approx(1500));
  CHECK(part(all[0], kernel_cause::contention) == Approx(1500));
  CHECK(all[0].unexplained_ns == Approx(0).margin(1e-6));
}

TEST_CASE("kernels that replace others are taken together, by all that they do") {
  // Three that move 4 MB each become one that moves 6 MB at the same rate.
  auto const c = run_of({{"a", 1000}, {"b", 1000}, {"c", 1000}, {"same", 500}});
  auto const v = run_of({{"fused", 1500}, {"same", 500}});
  auto const found = difference(c, v, -1500);
  totals_by_kernel control, variant;
  for (auto const* name : {"a", "b", "c"}) { control[name] = amounts({}); }
  variant["fused"] = amounts({.ns = 1500, .dram_bytes = 6e6, .l2_bytes = 12e6});
  auto const all = explain_kernels(found, control, variant);
  REQUIRE(all.size() == 1);
  CHECK(all[0].name.empty());
  CHECK(all[0].delta_ns() == -1500);
  CHECK(part(all[0], kernel_cause::l2_bytes) == Approx(-1500));
  CHECK(part(all[0], kernel_cause::launches) == 0);
  control.erase("b");  // one that nobody counted: nothing is said of part of the work
  CHECK(explain_kernels(found, control, variant).empty());
}

TEST_CASE("random launches: the parts always sum up, and never are NaN") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  std::uniform_real_distribution<double> factor{0.05, 1};
  auto const some = [&] {
    auto const sometimes = [&](double value) { return random() % 10 == 0 ? std::nan("") : value; };
    return counted_launch{.ns = std::floor(1 + 1e6 * factor(random)),
                          .sm_active = sometimes(factor(random)),
                          .occupancy = sometimes(factor(random)),
                          .hertz = sometimes(1e9 * factor(random)),
                          .ipc = sometimes(random() % 8 == 0 ? 0 : 4 * factor(random)),
                          .dram_share = sometimes(factor(random)),
                          .dram_bytes = sometimes(random() % 8 == 0 ? 0 : 1e6 * factor(random)),
                          .l2_bytes = sometimes(1e6 * factor(random))};
  };
  for (int round = 0; round < 2000; ++round) {
    auto const first = some();
    auto const second = some();
    auto const c = run_of({{"k", static_cast<std::int64_t>(first.ns)}});
    auto const v = run_of({{"k", static_cast<std::int64_t>(second.ns)}});
    auto const found = difference(c, v, second.ns - first.ns + 1);
    for (auto const& each :
         explain_kernels(found, {{"k", amounts(first)}}, {{"k", amounts(second)}})) {
      REQUIRE(sum(each) == Approx(each.delta_ns()).epsilon(1e-9).margin(1e-3));
      for (auto const& cause : each.causes) { REQUIRE(std::isfinite(cause.ns)); }
    }
  }
}

TEST_CASE("counters are named by a trace of the same launches, or not at all") {
  counter_values counted;
  counted.ranges = {launch({.dram_bytes = 1e6}), launch({.dram_bytes = 2e6}),
                    launch({.dram_bytes = 3e6})};
  auto trace = run_of({{"a", 10}, {"b", 10}, {"a", 10}});
  std::swap(trace.kernels[0], trace.kernels[1]);  // rows are in no order
  auto const named = name_totals(counted, trace);
  REQUIRE(named.size() == 2);
  CHECK(named.at("a").dram_bytes == 4e6);
  CHECK(named.at("a").launches == 2);
  CHECK(named.at("b").dram_bytes == 2e6);
  counted.ranges_lost = 1;
  CHECK(name_totals(counted, trace).empty());
  counted.ranges_lost = 0;
  counted.ranges.pop_back();
  CHECK(name_totals(counted, trace).empty());
}

TEST_CASE("an explanation tells counters below their kernel, and adds them to nothing") {
  variant_evidence control, variant;
  control.label = "control";
  variant.label = "variant";
  control.trace = run_of({{"k", 1000}});
  variant.trace = run_of({{"k", 2000}});
  auto const plain = explain_traces(control, variant, {1000});
  control.kernels["k"] = amounts({});
  variant.kernels["k"] =
      amounts({.ns = 2000, .occupancy = 0.25, .dram_bytes = 4e6 * std::sqrt(2.0), .l2_bytes = 8e6});
  auto const why = explain_traces(control, variant, {1000});
  CHECK(why.changes.traced_ns() == plain.changes.traced_ns());
  CHECK(why.changes.changes.size() == plain.changes.changes.size());
  std::string all;
  for (auto const& line : report::sentences(why)) { all += line + "\n"; }
  CHECK_THAT(
      all,
      contains("Devices: kernel k: +1.000 us; by counters L2 misses 50.0 % -> 70.7 % +500.0 ns, "
               "the rest +500.0 ns.\n"));
  REQUIRE(why.kernels.size() == 1);
  CHECK(why.kernels[0].causes.size() == 2);
  CHECK(why.kernels[0].causes[0].ns == Approx(500));
  CHECK(why.kernels[0].by_memory);
}
