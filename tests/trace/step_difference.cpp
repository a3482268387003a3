// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Differences per step against runs whose truth is known.
#include "catch.hpp"

#include <assay/stats/random_source.hpp>
#include <assay/trace/step_difference.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace assay::trace;
using steps = std::vector<step_record>;

double uniform(assay::stats::random_source& from) {
  return static_cast<double>(from.next() >> 11U) * 0x1p-53;
}

/// Steps of 1 ms with 5 kernels and 3 causes of idle time, each with noise of 1 % and a long tail.
/// `slower`: the factor of the first kernel.
steps run_of(assay::stats::random_source& random, std::size_t count, double slower = 1) {
  steps made(count);
  for (auto& step : made) {
    auto const add = [&](entry_kind kind, std::string const& name, double ns) {
      auto const noisy = ns * (1 + 0.005 * uniform(random) - 0.005 * std::log(1 - uniform(random)));
      step.run.parts[{kind, name}] = {noisy, 1, 0};
      step.run.ns += noisy;
    };
    add(entry_kind::kernel, "gemm", 400'000 * slower);
    for (int i = 0; i < 4; ++i) { add(entry_kind::kernel, "k" + std::to_string(i), 100'000); }
    add(entry_kind::idle, "dependency", 50'000);
    add(entry_kind::call, "cudaLaunchKernel", 100'000);
    add(entry_kind::waiting, "cudaDeviceSynchronize", 50'000);
    step.calls[{entry_kind::call, "cudaLaunchKernel"}] = {200'000 * (1 + 0.01 * uniform(random)), 8,
                                                          0};
    step.range_ns = step.run.ns + 10'000 * uniform(random);
  }
  return made;
}

}  // namespace

TEST_CASE("equal runs seldom differ, and a kernel that is 2 % slower is found in every pair") {
  // The seed is fixed. An interval of its own excludes zero in at most 5 % of equal pairs, and any
  // of those that hold together does: 400 pairs exceed 7.5 % with a chance of 1 %.
  assay::stats::random_source random{48};
  int range = 0, work = 0, any = 0, found = 0, held = 0;
  constexpr int pairs = 400;
  for (int pair = 0; pair < pairs; ++pair) {
    auto const same = unpaired_difference(run_of(random, 10), run_of(random, 20));
    REQUIRE(same.together);
    range += same.range.of.distinguishable() ? 1 : 0;
    work += same.work.of.distinguishable() ? 1 : 0;
    auto const differs = [](auto const& each) { return each.of.distinguishable(); };
    any += std::ranges::any_of(same.parts, differs) || std::ranges::any_of(same.calls, differs);
    if (pair >= 20) { continue; }
    auto const slower = unpaired_difference(run_of(random, 20), run_of(random, 20, 1.02));
    auto const& first = slower.parts.front();
    found += first.of.name == "gemm" && first.of.delta.low > 0 ? 1 : 0;
    held += first.factor.low <= 1.02 && first.factor.high >= 1.02 ? 1 : 0;
  }
  CHECK(range <= 0.075 * pairs);
  CHECK(work <= 0.075 * pairs);
  CHECK(any <= 0.075 * pairs);
  CHECK(found == 20);
  CHECK(held == 20);
}

TEST_CASE("what equal runs of one program may differ by is told from more than that") {
  assay::stats::random_source random{9};
  auto const of = [&](double slower) {
    return unpaired_difference(run_of(random, 100), run_of(random, 100, slower));
  };
  auto const little = of(1.008);  // of the kernel, 0.3 % of the step
  CHECK(little.parts.front().of.delta.low > 0);
  CHECK_FALSE(beyond_runs(little.parts.front(), little));
  CHECK_FALSE(beyond_runs(little.work, little));
  auto const more = of(1.02);  // 0.8 % of the step
  CHECK(more.parts.front().of.name == "gemm");
  CHECK(beyond_runs(more.parts.front(), more));
  CHECK_FALSE(beyond_runs(more.work, more));
  CHECK(beyond_runs(of(1.1).work, more));

  // Time of the host counts as a share of the step, however much it is of itself.
  step_change call{.of = {}, .factor = {1.2, 1.3, 1.4}};
  call.of.what = entry_kind::call;
  call.of.delta = {8'000, 9'000, 10'000};
  CHECK_FALSE(beyond_runs(call, more));
  call.of.delta = {-30'000, -20'000, -12'000};
  CHECK(beyond_runs(call, more));
}

TEST_CASE("the parts of a step sum up to its work, and names of one side are zero on the other") {
  auto const run = [](std::string const& name, double ns, std::size_t count) {
    steps made(count);
    for (auto& each : made) {
      each.run.parts[{entry_kind::kernel, "gemm"}] = {1000, 2, 0};
      each.run.parts[{entry_kind::kernel, name}] = {ns, 1, 0};
      each.run.idle_ns[1] = 100;
      each.run.parts[{entry_kind::idle, "dependency"}] = {100, 1, 0};
      each.run.ns = 1100 + ns;
      each.range_ns = 500;
    }
    return made;
  };
  auto const found = unpaired_difference(run("old", 300, 10), run("new", 700, 20));
  REQUIRE(found.parts.size() == 4);
  CHECK(found.parts[0].of.name == "new");
  CHECK(found.parts[0].of.delta.low == 700);
  CHECK(found.parts[0].of.control.ns == 0);
  CHECK(std::isinf(found.parts[0].factor.low));
  CHECK(found.parts[1].of.name == "old");
  CHECK(found.parts[1].of.delta.high == -300);
  CHECK(found.parts[1].factor.high == 0);
  CHECK(found.parts[2].of.delta_ns() == 0);
  CHECK(found.work.of.delta_ns() == 400);
  CHECK(found.range.of.delta_ns() == 0);
  CHECK(found.control.device_ns == Approx(1300));
  CHECK(found.control.idle_ns[1] == Approx(100));
  CHECK(found.control.edge_ns == Approx(0).margin(1e-9));
  CHECK(found.control.steps == 10);
  CHECK(found.variant.steps == 20);
}

TEST_CASE("few steps have intervals of their own, or none") {
  assay::stats::random_source random{1};
  auto const few = unpaired_difference(run_of(random, 5), run_of(random, 4));
  CHECK(few.has_intervals());
  CHECK_FALSE(few.together);
  CHECK(few.level == few.alpha);
  auto const fewer = unpaired_difference(run_of(random, 3), run_of(random, 3));
  CHECK_FALSE(fewer.has_intervals());
  CHECK_FALSE(fewer.range.of.distinguishable());
  CHECK(std::isinf(fewer.parts.front().of.delta.high));
  CHECK_THROWS_AS(unpaired_difference(steps{}, run_of(random, 3)), std::invalid_argument);
}

TEST_CASE("intervals of steps that follow each other are wider") {
  assay::stats::random_source random{3};
  auto const independent = run_of(random, 100);
  auto drifting = independent;
  for (std::size_t i = 0; i < drifting.size(); ++i) {
    drifting[i].range_ns += 1000.0 * static_cast<double>(i);
  }
  CHECK(unpaired_difference(independent, independent).range.widening < 1.5);
  CHECK(unpaired_difference(independent, drifting).range.widening > 3);
}
