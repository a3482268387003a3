// SPDX-License-Identifier: Apache-2.0
#include <assay/core/tick_clock.hpp>

#include "catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

using namespace assay;

namespace {

constexpr std::int64_t epoch = 1'700'000'000'000'000'000;  // a time of today, beyond 2^53

}  // namespace

TEST_CASE("One anchor and a rate time all that is near") {
  tick_times time{{{1'000'000, epoch}}, 0.5};
  CHECK(time(1'000'000) == epoch);
  CHECK(time(1'000'002) == epoch + 1);
  CHECK(time(999'000) == epoch - 500);
  CHECK(time(1'000'000'000'000) == epoch + 499'999'500'000);
}

TEST_CASE("Counters near the end of their range lose no nanosecond") {
  constexpr std::int64_t since = 9'000'000'000'000'000'000;
  tick_times time{{{since, epoch}, {since + 200'000, epoch + 100'000}}, 0.5};
  CHECK(time(since + 2) == epoch + 1);
  CHECK(time(since + 199'998) == epoch + 99'999);
  CHECK(time(since + 200'000'000'000'000) == epoch + 100'000'000'000'000);
}

TEST_CASE("A clock that is slewed is followed to a few nanoseconds") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  // The clock's rate wanders by 500 parts in a million, the counter's is 2.6 a nanosecond.
  std::vector<tick_anchor> truth;
  std::vector<tick_anchor> anchors;
  double at = 0;
  double rate = 1 / 2.6;
  std::int64_t ticks = 123'456'789;
  for (int i = 0; i < 20'000; ++i) {
    if (i % 500 == 0) {
      rate = (1 + 5e-4 * (static_cast<double>(random() % 2001) / 1000 - 1)) / 2.6;
    }
    auto const step = static_cast<std::int64_t>(random() % 40'000);
    ticks += step;
    at += static_cast<double>(step) * rate;
    truth.push_back({ticks, epoch + std::llround(at)});
    if (anchors.empty() || ticks - anchors.back().ticks > (1 << 18)) {
      anchors.push_back(truth.back());
    }
  }
  tick_times time{anchors, 1 / 2.6};
  std::int64_t worst = 0;
  std::int64_t last = truth.front().at;
  bool ordered = true;
  for (auto const& each : truth) {
    if (each.ticks > anchors.back().ticks) { break; }
    auto const found = time(each.ticks);
    worst = std::max(worst, std::abs(found - each.at));
    ordered = ordered && found >= last;
    last = found;
  }
  // A change by 1000 ppm in the middle of the 0.116 ms between two anchors bends the line by 29 ns;
  // one rate for all would be off by up to 58 ns.
  CHECK(worst <= 31);
  CHECK(worst > 0);
  CHECK(ordered);
}

TEST_CASE("Where the clock was set, times run on to the next anchor and jump with it") {
  for (std::int64_t const set : {std::int64_t{3'600'000'000'000}, std::int64_t{-50'000}}) {
    tick_times time{{{0, epoch}, {200'000, epoch + 100'000 + set}}, 0.5};
    CHECK(time(100'000) == epoch + 50'000);
    CHECK(time(199'998) == epoch + 99'999);
    CHECK(time(200'000) == epoch + 100'000 + set);
    CHECK(time(200'002) == epoch + 100'001 + set);
    CHECK(time(2) == epoch + 1);  // also when asked out of order
  }
}

TEST_CASE("The rate of two moments, and the usual one where they tell nothing") {
  CHECK(nanoseconds_per_tick({1000, 500}, {3000, 1500}) == 0.5);
  CHECK(nanoseconds_per_tick({1000, 500}, {1000, 1500}) == 0.4);
  CHECK(nanoseconds_per_tick({1000, 500}, {900, 1500}) == 0.4);
  CHECK(nanoseconds_per_tick({1000, 500}, {2000, 500}) == 0.4);
}

TEST_CASE("This machine's counter keeps the time of its clock, on all cores") {
  if (!ticks_are_steady()) {
    WARN("no steady counter here: ranges are stamped with the clock");
    return;
  }
  auto const begin = tick_anchor::now(CLOCK_MONOTONIC);
  auto const here = tick_anchor::now(CLOCK_REALTIME);
  std::vector<tick_anchor> seen(8);
  std::vector<std::thread> crew;
  for (auto& each : seen) {
    crew.emplace_back([&each] {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      each = tick_anchor::now(CLOCK_REALTIME);
    });
  }
  for (auto& each : crew) { each.join(); }
  auto const rate = nanoseconds_per_tick(begin, tick_anchor::now(CLOCK_MONOTONIC));
  CHECK(rate > 0.05);
  CHECK(rate < 10);
  tick_times time{{here}, rate};
  for (auto const& each : seen) {
    INFO("off by " << time(each.ticks) - each.at << " ns");
    // 20 ms by the rate alone; a clock that is being slewed may add 10 us.
    CHECK(std::abs(time(each.ticks) - each.at) < 12'000);
  }
}
