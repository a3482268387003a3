// SPDX-License-Identifier: Apache-2.0
/// @file
/// Terms that are fitted to times of simulated engines are the engines' own.

#include "catch.hpp"
#include "transfer/engine_simulator.hpp"

#include <assay/transfer/overlap_fit.hpp>

#include <cmath>
#include <random>

using namespace assay;
using assay::test::contains;
using transfer::overlap_size;
using transfer::overlap_terms;

namespace {

constexpr overlap_size size{0x1p25, 0x1p25, 1 << 23};

/// 55 GB/s each way, 50 with both.
overlap_terms link() {
  overlap_terms made{55e9, 55e9, 50e9, 50e9};
  made.kernel_overhead_seconds = 2e-6;
  made.submit_seconds = 5e-6;
  return made;
}

double simulated(overlap_terms const& of, int chunks, int slots) {
  test::engine_simulator::machine const machine{of.to_device_bytes_per_second,
                                                of.to_device_duplex_bytes_per_second,
                                                of.to_host_bytes_per_second,
                                                of.to_host_duplex_bytes_per_second,
                                                of.kernel_seconds_per_element,
                                                of.copy_overhead_seconds,
                                                of.kernel_overhead_seconds,
                                                of.copy_overhead_seconds,
                                                of.submit_seconds};
  std::vector<test::engine_simulator::chunk> all;
  for (auto const each : transfer::equal_chunks(size.elements, size.granularity, chunks)) {
    auto const elements = static_cast<double>(each);
    all.push_back({4 * elements, elements, 4 * elements});
  }
  return of.start_seconds +
         test::engine_simulator{machine, all, static_cast<std::size_t>(slots)}.run();
}

}  // namespace

TEST_CASE("a fit finds the overheads of simulated engines", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  for (int i = 0; i < 100; ++i) {
    auto const uniform = [&](double low, double high) {
      return std::uniform_real_distribution<double>{low, high}(random);
    };
    auto truth = link();
    truth.to_device_duplex_bytes_per_second = uniform(30e9, 55e9);
    truth.to_host_duplex_bytes_per_second = uniform(30e9, 55e9);
    truth.copy_overhead_seconds = uniform(1e-6, 10e-6);
    truth.start_seconds = uniform(0, 20e-6);
    auto found = truth;
    found.copy_overhead_seconds = 1;  // whatever it was
    found.start_seconds = 1;
    std::vector<transfer::timed_cut> cuts;
    for (int const chunks : {6, 12, 20, 32}) {
      cuts.push_back({chunks, simulated(truth, chunks, 6), 1e-6});
    }
    transfer::fit_overheads(found, size, 6, cuts);
    INFO("draw " << i << ", overhead " << truth.copy_overhead_seconds);
    CHECK(found.copy_overhead_seconds == Approx(truth.copy_overhead_seconds).margin(0.3e-6));
    CHECK(found.start_seconds == Approx(truth.start_seconds).margin(4e-6));
    CHECK(found.copy_overhead_error_seconds < 1.5e-6);
    for (int const chunks : {8, 12, 20, 32}) {  // and so it says what is measured
      auto const plan = transfer::equal_chunks(size.elements, 1, chunks);
      CHECK(transfer::chunked_seconds(found, size, plan, 6) ==
            Approx(simulated(truth, chunks, 6)).epsilon(0.003));
    }
  }
}

TEST_CASE("a fit is not caught in a valley beside the deepest", "[transfer]") {
  auto truth = link();
  truth.to_device_duplex_bytes_per_second = 49.4426e9;
  truth.to_host_duplex_bytes_per_second = 32.1312e9;
  truth.copy_overhead_seconds = 9.52526e-6;  // there is another at 9.83e-6
  truth.start_seconds = 0.137e-6;
  std::vector<transfer::timed_cut> cuts;
  for (int const chunks : {6, 12, 20, 32}) {
    cuts.push_back({chunks, simulated(truth, chunks, 6), 1e-6});
  }
  auto found = truth;
  transfer::fit_overheads(found, size, 6, cuts);
  CHECK(found.copy_overhead_seconds == Approx(truth.copy_overhead_seconds).margin(0.01e-6));
}

TEST_CASE("the interval of a fit holds the truth, and is steady where times are not",
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
    for (int const chunks : {6, 12, 20, 32}) {
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
    auto const off = std::abs(found.copy_overhead_seconds - truth.copy_overhead_seconds);
    held += off <= found.copy_overhead_error_seconds;
    steady += off < 0.25e-6 && found.copy_overhead_error_seconds < 0.8e-6;
  }
  CHECK(held >= 0.85 * fits);
  CHECK(steady >= 0.9 * fits);
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
    auto const found = transfer::steadiest_terms(static_cast<int>(seen.size()), [&] {
      overlap_terms made{};
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

TEST_CASE("where rates do not change, the fit is the closed form", "[transfer]") {
  overlap_terms found{50e9, 50e9, 50e9, 50e9};
  double const one_way = 0x1p25 / 50e9;
  auto const closed = [&](int n, double a) {
    return 2 * one_way / n + (1 - 1.0 / n) * one_way + n * a;
  };
  transfer::fit_overheads(found, size, 32, {{8, closed(8, 4e-6)}, {32, closed(32, 4e-6)}});
  CHECK(found.copy_overhead_seconds == Approx(4e-6).epsilon(1e-3));
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
                    contains("8 to 8 chunks"));
  CHECK_THROWS_AS(transfer::fit_overheads(found, size, 6, {{0, 1}, {8, 1}}), std::invalid_argument);
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

TEST_CASE("a kernel's time is net of its launch, its tail and its waits", "[transfer]") {
  using transfer::kernel_seconds_per_element;
  // Alone 12 us for 10 elements, of which 2 are the launch; nothing follows.
  CHECK(kernel_seconds_per_element({12, 10, 0, 0}, 2) == Approx(1));
  // Ten chunks of ten in 80: each ends while the next has begun.
  CHECK(kernel_seconds_per_element({12, 10, 80, 100}, 2) == Approx(0.8));
  // The link limits, so those that follow wait for it.
  CHECK(kernel_seconds_per_element({12, 10, 500, 100}, 2) == Approx(1));
  CHECK(kernel_seconds_per_element({1, 10, 0, 0}, 2) == 0);
}
