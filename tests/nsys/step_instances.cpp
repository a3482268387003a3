// SPDX-License-Identifier: Apache-2.0
/// @file
/// The choice of steps among the instances of a range.
#include "catch.hpp"
#include "trace/golden.hpp"

#include <assay/nsys/step_instances.hpp>

#include <cstddef>

using namespace assay::test::golden;

namespace {

constexpr thread_key other_process{200, 200};

/// Ten steps of each of two processes, the second of which runs 50 ns later; the last one of the
/// first process is cut off. Each step launches a kernel.
model two_processes() {
  builder b;
  b.trace.window = {0, 10'000};
  for (int i = 0; i < 10; ++i) {
    for (auto const& who : {main_thread, other_process}) {
      auto const at = 1000 * i + (who == main_thread ? 0 : 50);
      b.range("step", {at, at + 500}, who).ended = i < 9 || who != main_thread;
      b.launch("kernel", {at + 10, at + 20}, {at + 30, at + 100 + i}, {}, who);
    }
  }
  return b.trace;
}

}  // namespace

TEST_CASE("warm-ups are left out of each process, and steps that were cut off") {
  auto const of = two_processes();
  auto const steps = instances_without(of, {.range = "step"}, 2, 100);
  CHECK(steps.found == 20);
  CHECK(steps.skipped == 4);
  CHECK(steps.cut == 1);
  CHECK(steps.threads == 2);
  REQUIRE(steps.rows.size() == 15);
  REQUIRE(steps.ranges.size() == 15);
  for (std::size_t i = 0; i < steps.rows.size(); ++i) {
    auto const& range = of.ranges[steps.ranges[i]];
    CHECK(range.when.begin >= 2000);
    REQUIRE(steps.rows[i].of().kernels.size() == 1);
    CHECK(steps.rows[i].of().kernels[0].where.process == range.thread.process);
    CHECK(steps.rows[i].of().kernels[0].when.begin == range.when.begin + 30);
    if (i > 0) { CHECK(range.when.begin > of.ranges[steps.ranges[i - 1]].when.begin); }
  }
}

TEST_CASE("of many steps some are taken, from the whole run") {
  auto const of = two_processes();
  auto const steps = instances_without(of, {.range = "step"}, 0, 5);
  REQUIRE(steps.rows.size() == 5);
  CHECK(of.ranges[steps.ranges.front()].when.begin == 0);
  CHECK(of.ranges[steps.ranges.back()].when.begin >= 7000);
  CHECK(instances_without(of, {.range = "step"}, 10, 5).rows.empty());
  CHECK(instances_without(of, {.range = "nosuch"}, 0, 5).found == 0);
}
