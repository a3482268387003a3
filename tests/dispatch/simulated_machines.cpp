// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
// What predictions and choices are worth on machines whose true times are known.
#include "catch.hpp"
#include "dispatch/synthetic_machine.hpp"

#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <utility>
#include <vector>

using namespace assay;
using test::contains;
using test::synthetic_machine;

namespace {

std::pair<double, double> median_and_p90(std::vector<double>& errors) {
  std::sort(errors.begin(), errors.end());
  return {stats::quantile(errors, 0.5), stats::quantile(errors, 0.9)};
}

/// The true seconds of the copies of a call: `more` seconds for each copy beside those of a link.
struct true_copies {
  dispatch::link pageable, page_locked;
  double more = 0;
  double operator()(std::size_t path, dispatch::facts const& known) const {
    if (path != 3) { return 0; }
    double const seconds =
        dispatch::path_links{{pageable, page_locked}, on::device{0}}.of(known).seconds();
    double sum = seconds;
    for (std::size_t i = 0; i < known.count; ++i) {
      sum += known.arrays[i].memory == memory_type::device ? 0 : more;
    }
    return sum;
  }
};

/// A machine with a fourth path, on a device.
synthetic_machine with_device(std::uint64_t seed) {
  synthetic_machine machine{seed};
  auto& draw = machine.random_;
  double const submit = draw.log_uniform(5e-6, 3e-5);
  double const element = draw.log_uniform(1e-12, 1e-10);
  machine.add(on::device{0}, [=](double n) { return submit + n * element; });
  auto const link_of = [&](memory_type memory) {
    return dispatch::link{memory, draw.log_uniform(2e-6, 3e-5), draw.log_uniform(1.6e-11, 2e-10),
                          draw.log_uniform(1.6e-11, 2e-10)};
  };
  machine.copies = true_copies{link_of(memory_type::pageable), link_of(memory_type::page_locked),
                               draw.uniform(0, 2e-6)};
  return machine;
}

}  // namespace

TEST_CASE("choices waste little, and predictions are near, on 200 machines", "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  int const machines = test::small() ? 50 : 200;
  std::vector<double> errors;
  double chosen = 0, best = 0;
  for (int m = 0; m < machines; ++m) {
    synthetic_machine machine{stats::derive_seed(seed, static_cast<std::uint64_t>(m))};
    auto const costs =
        machine.calibrated(stats::derive_seed(seed + 1, static_cast<std::uint64_t>(m)));
    CHECK(costs.warnings.empty());
    CHECK(costs.paths()[0].knots.size() == 12);
    for (int i = 0; i < 30; ++i) {
      auto const size = dispatch::size_range{16, 1 << 24}.draw(machine.random_.from);
      auto const n = static_cast<double>(size);
      auto const known = dispatch::facts_of_size(size);
      double least = INFINITY;
      for (std::size_t p = 0; p < 3; ++p) {
        double const is = machine.truth[p](n);
        least = std::min(least, is);
        errors.push_back(std::abs(costs.predict(p, known).total.seconds / is - 1));
      }
      chosen += machine.truth[costs.best(known)](n) / least;
      best += 1;
    }
  }
  auto const [median, p90] = median_and_p90(errors);
  std::cout << "predictions: error " << 100 * median << " % at the median and " << 100 * p90
            << " % at p90; mean regret " << 100 * (chosen / best - 1) << " %\n";
  CHECK(median < 0.02);
  CHECK(p90 < 0.08);
  CHECK(chosen / best - 1 < 0.005);
}

TEST_CASE("predictions are those of the usual speed on machines that are slow for some time",
          "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::vector<double> errors;
  for (int m = 0; m < 100; ++m) {
    synthetic_machine machine{stats::derive_seed(seed, static_cast<std::uint64_t>(m))};
    machine.slow_down(1.7, 0.05);  // as long as some sizes take
    auto const costs = machine.calibrated(seed + static_cast<std::uint64_t>(m));
    for (std::size_t p = 0; p < 3; ++p) {
      for (auto const& each : costs.paths()[p].knots) {
        // Larger sizes are measured for so long that slow periods are part of each time.
        if (each.size > 1 << 18) { continue; }
        errors.push_back(std::abs(each.seconds / machine.truth[p](each.size) - 1));
      }
    }
  }
  auto const [median, p90] = median_and_p90(errors);
  std::cout << "with slow periods: knots are off by " << 100 * median << " % at the median and "
            << 100 * p90 << " % at p90\n";
  CHECK(median < 0.015);
  CHECK(p90 < 0.05);
}

TEST_CASE("a busy machine or a small budget widens intervals, and is told", "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (double const slow : {1.0, 50.0}) {
    synthetic_machine machine{seed};
    machine.slow_down(slow, 0.05);
    auto const costs = machine.calibrated(seed, 1e-9);
    REQUIRE(costs.warnings.size() == 1);
    CHECK_THAT(costs.warnings[0], contains("budget_seconds = 1e-09 was too small to measure 12 of "
                                           "12 sizes twice: their intervals are wide"));
    for (auto const& path : costs.paths()) {
      for (auto const& each : path.knots) { CHECK(each.spread >= 0.5); }
    }
  }
}

TEST_CASE("the copies of whole calls give the links of their memory", "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::vector<double> errors, mixed_errors;
  double chosen = 0, best = 0;
  for (int m = 0; m < 100; ++m) {
    auto machine = with_device(stats::derive_seed(seed, static_cast<std::uint64_t>(m)));
    auto const costs = machine.calibrated(seed + static_cast<std::uint64_t>(m));
    CHECK(costs.measured().links.size() == 2);
    for (int i = 0; i < 60; ++i) {
      auto& draw = machine.random_;
      auto const size = dispatch::size_range{16, 1 << 24}.draw(draw.from);
      auto known = dispatch::facts_of_size(size);
      bool const mixed = i % 2 == 0;
      auto memory = static_cast<memory_type>(draw.from.below(2));
      for (auto each : machine.arrays) {
        if (mixed) { memory = static_cast<memory_type>(draw.from.below(2)); }
        each.bytes = 4.0 * static_cast<double>(size);
        each.memory = memory;
        known.arrays[known.count++] = each;
      }
      std::vector<double> is;
      for (std::size_t p = 0; p < 4; ++p) {
        is.push_back(machine.truth[p](static_cast<double>(size)) + machine.copies(p, known));
      }
      (mixed ? mixed_errors : errors).push_back(std::abs(costs.seconds(3, known) / is[3] - 1));
      chosen += is[costs.best(known)] / *std::min_element(is.begin(), is.end());
      best += 1;
    }
  }
  auto const [median, p90] = median_and_p90(errors);
  auto const [mixed_median, mixed_p90] = median_and_p90(mixed_errors);
  std::cout << "with copies: errors in % " << 100 * median << " and " << 100 * p90 << ", mixed "
            << 100 * mixed_median << " and " << 100 * mixed_p90 << "; mean regret "
            << 100 * (chosen / best - 1) << " %\n";
  CHECK(median < 0.03);
  CHECK(p90 < 0.10);
  CHECK(mixed_median < 0.05);
  CHECK(mixed_p90 < 0.15);
  CHECK(chosen / best - 1 < 0.02);
}
