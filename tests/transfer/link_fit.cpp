// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Costs that are fitted to times of simulated engines predict these engines.

#include "catch.hpp"
#include "transfer/simulated_link.hpp"

#include <assay/transfer/link_fit.hpp>

#include <cmath>
#include <random>

using namespace assay;
using assay::test::contains;
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
  std::vector<transfer::timed_cut> cuts;
  for (int const chunks : {8, 12, 20, 32}) {
    cuts.push_back({chunks, simulated(truth, chunks, 6), 1e-6});
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
    CHECK(found.copy_overhead_error_seconds < 1.5e-6);
  }
}

TEST_CASE("fitted costs predict what was measured, and plan within 3 % of the exhaustive grid",
          "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
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
      CHECK(transfer::predicted_seconds(found, size, chunks, 6) ==
            Approx(simulated(truth, chunks, 6)).epsilon(0.015));
    }
    for (double const bytes : {0x1p24, 0x1p26, 0x1p29}) {
      test::linked_job const one{
          truth,
          {bytes, bytes, static_cast<std::int64_t>(bytes / 4), 1024, 1, 1, 2 * bytes / 4e12}};
      auto const plan = transfer::plan_chunks(found, one.size);
      CHECK(test::simulated(one, plan.chunks, plan.slots) <= 1.03 * test::exhaustive_grid(one));
    }
  }
}

TEST_CASE("the interval of a fit holds the fit without noise, and is steady where times are not",
          "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  int const fits = test::small() ? 20 : 200;
  int held = 0;
  int steady = 0;
  for (int i = 0; i < fits; ++i) {
    auto truth = link();
    truth.copy_overhead_seconds = 3.5e-6;
    truth.start_seconds = 8e-6;
    std::vector<transfer::timed_cut> cuts;
    for (int const chunks : {8, 12, 20, 32}) {
      auto const seconds = simulated(truth, chunks, 6);
      std::vector<double> times;
      std::normal_distribution<double> noise{0, 4e-6};
      for (int k = 0; k < 11; ++k) {
        times.push_back(seconds + noise(random) + (random() % 8 == 0 ? 100e-6 : 0));
      }
      cuts.push_back(transfer::median_cut(chunks, times));
    }
    auto found = truth;
    transfer::fit_overheads(found, size, 6, cuts);
    auto const off = std::abs(found.copy_overhead_seconds - fitted(truth).copy_overhead_seconds);
    held += off <= found.copy_overhead_error_seconds;
    steady += off < 0.25e-6 && found.copy_overhead_error_seconds < 0.8e-6;
  }
  CHECK(held >= 0.85 * fits);
  CHECK(steady >= 0.9 * fits);
}

TEST_CASE("times that the model does not explain widen the interval", "[transfer]") {
  auto const interval = [](double bend_seconds) {
    auto found = link();
    found.copy_overhead_seconds = 4e-6;
    std::vector<transfer::timed_cut> cuts;
    for (int const chunks : {8, 12, 20, 32}) {
      auto const bend = chunks == 12 || chunks == 20 ? bend_seconds : 0;
      cuts.push_back({chunks, simulated(found, chunks, 6) + bend, 1e-6});
    }
    transfer::fit_overheads(found, size, 6, cuts);
    return found.copy_overhead_error_seconds;
  };
  CHECK(interval(50e-6) > 5 * interval(0));
}

TEST_CASE("a median does not mind a few times that were disturbed", "[transfer]") {
  auto const calm = transfer::median_cut(7, {5, 4, 6, 5, 5, 4, 6, 5, 500});
  CHECK(calm.chunks == 7);
  CHECK(calm.seconds == 5);
  CHECK(calm.error_seconds == Approx(1.48 * 1.25 * 1 / 3));
  CHECK(transfer::median_cut(1, {3}).error_seconds == 0);
  CHECK_THROWS_AS(transfer::median_cut(1, {}), std::invalid_argument);
}

TEST_CASE("a link that was disturbed is measured again, and the best of what was seen counts",
          "[transfer]") {
  auto const taken = [](std::vector<std::pair<double, double>> const& seen) {
    std::size_t asked = 0;
    auto const found = transfer::steadiest_costs(static_cast<int>(seen.size()), [&] {
      link_costs made{};
      made.copy_overhead_seconds = seen.at(asked).first;
      made.copy_overhead_error_seconds = seen.at(asked++).second;
      return made;
    });
    return std::pair{found.copy_overhead_seconds, asked};
  };
  using pair = std::pair<double, std::size_t>;
  CHECK(taken({{4, 2}, {5, 0}, {6, 0}}) == pair{4, 1});  // within half at once
  CHECK(taken({{90, 230}, {4, 1}, {5, 0}}) == pair{4, 2});
  CHECK(taken({{90, 230}, {4, 3}, {90, 100}}) == pair{4, 3});
  CHECK(taken({{0, 1}, {0, 0}, {4, 3}}) == pair{4, 3});  // no overhead at all is no measurement
  CHECK(taken({{4, 3}, {0, 0}, {0, 1}}) == pair{4, 3});
  CHECK(taken({{0, 0}, {4, 3}}) == pair{4, 2});
  CHECK(taken({{90, 230}}) == pair{90, 1});
}

TEST_CASE("a fit holds on to what can be", "[transfer]") {
  auto found = link();
  found.submit_seconds = 0;
  transfer::fit_overheads(found, size, 6, {{8, 1.0}, {32, 0.5}});  // finer cuts cost nothing
  CHECK(found.copy_overhead_seconds == Approx(0).margin(1e-7));
  CHECK(found.start_seconds == Approx(0.75).margin(2e-3));
  transfer::fit_overheads(found, size, 6, {{8, 1e-9}, {32, 1e-9 + 32e-6}});
  CHECK(found.start_seconds == 0);
  CHECK_THROWS_WITH(transfer::fit_overheads(found, size, 6, {{8, 1}, {8, 1}}),
                    contains("2 cuts tell no overhead"));
  CHECK_THROWS_AS(transfer::fit_overheads(found, size, 6, {}), std::invalid_argument);
}

TEST_CASE("two copies tell a rate without what starting them costs", "[transfer]") {
  auto const line = transfer::line_through(2e6, 3e-6 + 2e6 / 55e9, 32e6, 3e-6 + 32e6 / 55e9);
  CHECK(line.bytes_per_second == Approx(55e9));
  CHECK(line.overhead_seconds == Approx(3e-6));
  CHECK(transfer::line_through(1, 1, 3, 4).overhead_seconds == 0);  // not less than nothing
  CHECK_THROWS_WITH(transfer::line_through(1, 2, 3, 2), contains("no measurement"));
  CHECK_THROWS_AS(transfer::line_through(3, 1, 3, 2), std::invalid_argument);
}
