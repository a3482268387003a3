// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
/// @file
/// Plans of the closed form are near the fastest of all chunks and slots.

#include "catch.hpp"
#include "transfer/simulated_link.hpp"

#include <assay/transfer/chunk_plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

using namespace assay;
using assay::test::contains;
using test::linked_job;
using transfer::job_size;
using transfer::link_costs;
using transfer::plan_chunks;

TEST_CASE("chunks cover every element once and begin at multiples", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  for (int i = 0; i < 2000; ++i) {
    auto const elements = std::uniform_int_distribution<std::int64_t>{0, 5000}(random);
    auto const granularity = std::uniform_int_distribution<std::int64_t>{1, 300}(random);
    auto const count = std::uniform_int_distribution<int>{1, 40}(random);
    INFO(elements << " elements, granularity " << granularity << ", " << count << " chunks");
    auto const chunks = transfer::equal_chunks(elements, granularity, count);
    REQUIRE(std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0}) == elements);
    REQUIRE(chunks.size() <= static_cast<std::size_t>(count));
    std::int64_t first = 0;
    for (auto const each : chunks) {
      REQUIRE(each > 0);
      REQUIRE(first % granularity == 0);
      first += each;
    }
  }
  CHECK(transfer::equal_chunks(12, 1, 4) == std::vector<std::int64_t>{3, 3, 3, 3});
  CHECK(transfer::equal_chunks(10, 4, 8) == std::vector<std::int64_t>{4, 4, 2});
  CHECK(transfer::equal_chunks(0, 4, 8).empty());
  CHECK(transfer::equal_chunks(3, 1, std::numeric_limits<int>::max()) ==
        std::vector<std::int64_t>{1, 1, 1});
  // A block that no sum with the elements holds is one block.
  constexpr auto whole = std::numeric_limits<std::int64_t>::max();
  CHECK(transfer::equal_chunks(12, whole, 8) == std::vector<std::int64_t>{12});
  CHECK(plan_chunks({}, {.bytes_in = 48e6, .elements = 12'000'000, .granularity = whole}).chunks ==
        std::vector<std::int64_t>{12'000'000});
}

TEST_CASE("chunks of large transfers begin at pages where their granularity allows", "[transfer]") {
  CHECK(transfer::page_granularity(1, 1 << 20) == 4096);
  CHECK(transfer::page_granularity(3, 1 << 20) == 3 * 4096);
  CHECK(transfer::page_granularity(1, 100'000) == 1);
  CHECK(transfer::page_granularity(5000, 1 << 26) == 5000);
}

namespace {

/// By how much a plan is slower than the fastest of the exhaustive grid, in the simulator.
double loss_of(linked_job const& one, transfer::chunk_plan const& plan) {
  return test::simulated(one, plan.chunks, plan.slots) / test::exhaustive_grid(one) - 1;
}

}  // namespace

TEST_CASE("the number of chunks is that of the least T(N)", "[transfer]") {
  for (double const bytes : {0x1p20, 0x1p24, 0x1p26, 0x1p29, 0x1p30}) {
    for (double const factor : {0.1, 0.9, 3.5}) {
      link_costs const costs{50e9, 4e-6};
      job_size const size{
          bytes, bytes, static_cast<std::int64_t>(bytes / 4), 1, 1, 1, factor * bytes / 50e9};
      auto const serial = 2 * bytes / 50e9 + size.kernel_seconds;
      auto const longest = std::max(bytes / 50e9, size.kernel_seconds);
      auto const t = [&](std::size_t n) {
        auto const count = static_cast<double>(n);
        return serial / count + (1 - 1 / count) * longest + (count + 2) * 4e-6;
      };
      auto const found = plan_chunks(costs, size).chunks.size();
      INFO(bytes << " bytes, " << factor << ": " << found << " chunks");
      CHECK(t(found) <= t(found + 1) * 1.002);
      CHECK((found == 1 || t(found) <= t(found - 1) * 1.002));
    }
  }
}

TEST_CASE("on measured links a plan by the usual terms is within 3 % of the exhaustive grid",
          "[transfer]") {
  for (double const bytes : {0x1p24, 0x1p26, 0x1p29}) {
    for (auto const& link : test::recorded_links()) {
      auto const elements = static_cast<std::int64_t>(bytes / 4);
      job_size const in_place{bytes, bytes, elements, 1024, 1, 1, 2 * bytes / 4e12};
      job_size const sum{2 * bytes, bytes, elements, 1024, 2, 1, 3 * bytes / 4e12};
      auto heavy = in_place;
      heavy.kernel_seconds = 3.5 * bytes / link.out_duplex;
      for (auto const& size : {in_place, sum, heavy}) {
        auto const plan = plan_chunks({}, size);
        INFO(bytes / 0x1p20 << " MiB: " << plan.why);
        CHECK(loss_of({link, size}, plan) <= 0.03);
      }
    }
  }
}

TEST_CASE("on drawn links a plan by the usual terms is near the exhaustive grid", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  int const draws = test::small() ? 5 : 250;
  int within = 0;
  for (double const bytes : {0x1p24, 0x1p26, 0x1p29}) {
    for (int i = 0; i < draws; ++i) {
      auto const one = test::drawn_job(random, bytes);
      auto const plan = plan_chunks({}, one.size);
      INFO(bytes / 0x1p20 << " MiB, draw " << i << ": " << plan.why);
      REQUIRE(std::accumulate(plan.chunks.begin(), plan.chunks.end(), std::int64_t{0}) ==
              one.size.elements);
      auto const loss = loss_of(one, plan);
      CHECK(loss <= 0.08);
      within += loss <= 0.03;
    }
  }
  CHECK(within >= 0.95 * 3 * draws);
}

// Constant terms cannot be near the best on every link. Of 12,000 draws, whose links have a tenth
// of the assumed speed at worst, 9 lose more than 10 % and 5 us; the worst one loses 22 % and 5 us.
TEST_CASE("98 of 100 plans of any size are within 10 % and 5 us of the exhaustive grid, all 30 %",
          "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  int const draws = test::small() ? 10 : 200;
  int within = 0;
  for (int i = 0; i < draws; ++i) {
    auto const bytes = std::exp2(std::uniform_real_distribution{16.0, 32.0}(random));
    auto const one = test::drawn_job(random, bytes);
    auto const plan = plan_chunks({}, one.size);
    INFO("draw " << i << ": " << plan.why);
    auto const planned = test::simulated(one, plan.chunks, plan.slots);
    auto const best = test::exhaustive_grid(one);
    CHECK(planned <= 1.3 * best + 5e-6);
    within += planned <= 1.1 * best + 5e-6;
  }
  CHECK(within >= 0.98 * draws);
}

TEST_CASE("a plan that counts a kernel as half of its copies loses 3 % at most on an H200",
          "[transfer]") {
  for (double const bytes : {0x1p24, 0x1p26, 0x1p29}) {
    for (auto const& link : test::recorded_links()) {
      for (double const factor : {0.01, 0.1, 0.3, 1.0, 1.1, 2.0, 3.5, 10.0}) {
        linked_job one{link, {bytes, bytes, static_cast<std::int64_t>(bytes / 4), 1024}};
        auto const plan = plan_chunks({}, one.size);
        one.size.kernel_seconds = factor * bytes / link.out_duplex;
        INFO(bytes / 0x1p20 << " MiB, " << factor << " times the link");
        CHECK(test::simulated(one, plan.chunks, plan.slots) <= 1.03 * test::exhaustive_grid(one));
      }
    }
  }
}

TEST_CASE("a plan says what limits, keeps its limits, and refuses what cannot be", "[transfer]") {
  link_costs const costs{49e9, 2e-6};
  std::int64_t const elements = 1 << 26;
  auto const bytes = 4.0 * static_cast<double>(elements);

  auto const in_place = plan_chunks(costs, {bytes, bytes, elements});
  CHECK_THAT(in_place.why, contains("limits, at 49 GB/s (5.478 ms"));

  auto const sum = plan_chunks(costs, {2 * bytes, bytes, elements, 1, 2, 1});
  CHECK_THAT(sum.why, contains("the link to the device limits"));

  auto const heavy = plan_chunks(costs, {bytes, bytes, elements, 1, 1, 1, 4 * bytes / 49e9});
  CHECK_THAT(heavy.why, contains("the kernel limits"));

  CHECK_THAT(plan_chunks(costs, {0, bytes, elements}).why, contains("the link to the host limits"));

  CHECK(plan_chunks(costs, {}).chunks.empty());
  CHECK(plan_chunks(costs, {4, 4, 1}).chunks == std::vector<std::int64_t>{1});
  CHECK(plan_chunks(costs, {4e6, 4e6, 1'000'000, 2'000'000}).chunks ==
        std::vector<std::int64_t>{1'000'000});

  transfer::plan_limits const limits{.max_chunks = 16, .max_slots = 3, .device_bytes = 64e6};
  auto const poor = plan_chunks(costs, {bytes, bytes, elements}, limits);
  CHECK(poor.chunks.size() <= 16);
  CHECK(poor.slots <= 3);
  for (std::size_t i = 0; i + 1 < in_place.chunks.size(); ++i) {
    CHECK(in_place.chunks[i] % 4096 == 0);  // whole pages
  }
  CHECK(in_place.slots == 6);
  CHECK(poor.slots * static_cast<double>(std::ranges::max(poor.chunks)) * 8 <= 64e6);
  CHECK_THROWS_WITH(plan_chunks(costs, {bytes, bytes, elements, elements}, limits),
                    contains("at most 16 chunks") && contains("6.4e+07 bytes"));
  // One slot overlaps nothing.
  CHECK(plan_chunks(costs, {bytes, bytes, elements}, {.max_slots = 1}).chunks.size() == 1);
}

TEST_CASE("a kernel that limits has few chunks, which leave the device idle less often",
          "[transfer]") {
  for (double const factor : {1.1, 2.0, 3.5, 10.0}) {
    for (double const mib : {64, 256, 1024}) {
      auto const bytes = mib * 0x1p20;
      auto const link = test::recorded_links()[2];
      linked_job one{link, {bytes, bytes, static_cast<std::int64_t>(bytes / 4), 1024}};
      one.size.kernel_seconds = factor * bytes / link.out_duplex;
      auto const plan = plan_chunks({}, one.size);
      INFO(factor << " times the link, " << mib << " MiB: " << plan.why);
      CHECK(plan.chunks.size() <= 100);
      auto const share = one.size.kernel_seconds / test::simulated(one, plan.chunks, plan.slots);
      CHECK(share > (mib < 100 ? 0.88 : factor < 1.5 ? 0.93 : 0.95));
    }
  }
}
