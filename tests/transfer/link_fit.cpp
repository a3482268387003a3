// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Costs that are fitted to times of simulated engines predict these engines.

#include "catch.hpp"
#include "transfer/simulated_link.hpp"

#include <assay/stats/summary.hpp>
#include <assay/transfer/chunk_plan.hpp>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

using namespace assay;
using transfer::job_size;
using transfer::link_costs;

namespace {

constexpr job_size size{0x1p25, 0x1p25, 1 << 23};

/// 55 GB/s each way, 50 with both.
link_costs link() {
  link_costs made{55e9, 55e9, 50e9, 50e9};
  made.kernel_overhead_seconds = 2e-6;
  made.submit_seconds = 5e-6;
  return made;
}

double simulated(link_costs const& of, int chunks, int slots) {
  return test::simulated_equal({of, size}, chunks, slots);
}

/// The costs that a fit finds by the times of a simulated link.
link_costs fitted(link_costs const& truth) {
  auto found = truth;
  found.copy_overhead_seconds = 1;  // whatever it was
  found.start_seconds = 1;
  std::vector<std::pair<int, double>> cuts;
  for (int const chunks : {8, 12, 20, 32}) {
    cuts.push_back({chunks, simulated(truth, chunks, 6)});
  }
  transfer::fit_overheads(found, size, 6, cuts);
  return found;
}

}  // namespace

TEST_CASE("a fit finds the overheads of engines that lose little to opposing traffic",
          "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  for (int i = 0; i < 100; ++i) {
    auto const uniform = [&](double low, double high) {
      return std::uniform_real_distribution<double>{low, high}(random);
    };
    auto truth = link();
    // A direction that loses much saves a part of each overhead, by moving bytes alone meanwhile.
    truth.to_device_duplex_bytes_per_second = uniform(50e9, 55e9);
    truth.to_host_duplex_bytes_per_second = truth.to_device_duplex_bytes_per_second;
    truth.copy_overhead_seconds = uniform(1e-6, 10e-6);
    truth.start_seconds = uniform(0, 20e-6);
    auto const found = fitted(truth);
    INFO("draw " << i << ", overhead " << truth.copy_overhead_seconds);
    CHECK(found.copy_overhead_seconds == Approx(truth.copy_overhead_seconds).margin(0.3e-6));
    CHECK(found.start_seconds == Approx(truth.start_seconds).margin(4e-6));
  }
}

TEST_CASE("fitted costs predict what was measured, and plan within 3 % of the exhaustive grid",
          "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  int off = 0;  // one draw in 60,000, on 300 seeds
  for (int i = 0; i < (test::small() ? 5 : 50); ++i) {
    auto const uniform = [&](double low, double high) {
      return std::uniform_real_distribution<double>{low, high}(random);
    };
    auto truth = link();
    truth.to_device_duplex_bytes_per_second = uniform(30e9, 55e9);
    truth.to_host_duplex_bytes_per_second = uniform(30e9, 55e9);
    truth.copy_overhead_seconds = uniform(1e-6, 10e-6);
    truth.start_seconds = uniform(0, 20e-6);
    auto const found = fitted(truth);
    INFO("draw " << i << ", overhead " << truth.copy_overhead_seconds << ", found "
                 << found.copy_overhead_seconds);
    for (int const chunks : {8, 12, 20, 32}) {
      auto const said = transfer::predicted_seconds(found, size, chunks, 6);
      auto const seen = simulated(truth, chunks, 6);
      CHECK(said == Approx(seen).epsilon(0.03));
      off += std::abs(said / seen - 1) > 0.015;
    }
    for (double const bytes : {0x1p24, 0x1p26, 0x1p29}) {
      test::linked_job const one{
          truth,
          {bytes, bytes, static_cast<std::int64_t>(bytes / 4), 1024, 1, 1, 2 * bytes / 4e12}};
      auto const plan = transfer::plan_chunks(found, one.size);
      CHECK(test::simulated(one, plan.chunks, plan.slots) <= 1.03 * test::exhaustive_grid(one));
    }
  }
  CHECK(off <= 1);
}

TEST_CASE("a fit to medians of noisy times is near the fit without noise", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  int const fits = test::small() ? 20 : 200;
  int steady = 0;
  for (int i = 0; i < fits; ++i) {
    auto truth = link();
    truth.copy_overhead_seconds = 3.5e-6;
    truth.start_seconds = 8e-6;
    std::vector<std::pair<int, double>> cuts;
    for (int const chunks : {8, 12, 20, 32}) {
      auto const seconds = simulated(truth, chunks, 6);
      std::vector<double> times;
      std::normal_distribution<double> noise{0, 4e-6};
      for (int k = 0; k < 11; ++k) {
        times.push_back(seconds + noise(random) + (random() % 8 == 0 ? 100e-6 : 0));
      }
      cuts.push_back({chunks, stats::summarise(times).median});
    }
    auto found = truth;
    transfer::fit_overheads(found, size, 6, cuts);
    steady += std::abs(found.copy_overhead_seconds - fitted(truth).copy_overhead_seconds) < 0.25e-6;
  }
  CHECK(steady >= 0.9 * fits);
}

TEST_CASE("a fit holds on to what can be", "[transfer]") {
  auto found = link();
  found.submit_seconds = 0;
  transfer::fit_overheads(found, size, 6, {{8, 1.0}, {32, 0.5}});  // finer cuts cost nothing
  CHECK(found.copy_overhead_seconds == Approx(0).margin(1e-7));
  CHECK(found.start_seconds == Approx(0.75).margin(2e-3));
  transfer::fit_overheads(found, size, 6, {{8, 1e-9}, {32, 1e-9 + 32e-6}});
  CHECK(found.start_seconds == 0);
}
