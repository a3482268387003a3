// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
#include "catch.hpp"
#include "dispatch/saxpy.hpp"
#include "dispatch/synthetic_machine.hpp"
#include "offload/best_threshold.hpp"
#include "offload/rivals.hpp"

#include <assay/measure/regret.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>

using namespace assay;
namespace choose = dispatch::choose;

namespace {

/// 400 calls on paths that take `seconds(path, size)`, each half with normal noise of its own.
template <class F>
measure::timed_calls timed_with(F seconds, std::size_t paths, double noise, std::uint64_t seed) {
  test::draws draw{stats::random_source{seed}};
  measure::timed_calls all;
  for (int i = 0; i < 400; ++i) {
    auto& call = all.calls.emplace_back();
    call.known = dispatch::facts_of_size(dispatch::size_range{16, 1 << 20}.draw(draw.from));
    for (auto& half : call.halves) {
      for (std::size_t p = 0; p < paths; ++p) {
        half.push_back(seconds(p, static_cast<double>(call.known.amount.size)) *
                       std::exp(noise * draw.normal()));
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("regret is what the choices cost, without noise", "[measure]") {
  dispatch::costs const of{test::saxpy_measurements()};
  auto const timed = timed_with(
      [](std::size_t p, double n) { return p == 0 ? 1e-9 * n : 6e-6 + 0.25e-9 * n; }, 2, 0, 1);
  auto const model = measure::judge(timed, of, choose::by_model{});
  CHECK(model.total < 0.01);  // between its knots the curve is a little wrong
  CHECK(model.noise_floor < 1e-12);
  double one = 0, best = 0;
  for (auto const& call : timed.calls) {
    one += call.halves[0][0];
    best += std::min(call.halves[0][0], call.halves[0][1]);
  }
  auto const always = measure::judge(timed, of, choose::always{on::host{1}});
  CHECK(always.total == Approx(one / best - 1));
  CHECK(always.max > 2);
  CHECK(always.p95 <= always.max);
  double sum = 0;
  std::size_t counted = 0;
  for (auto const& call : timed.calls) {
    double const least = std::min(call.halves[0][0], call.halves[0][1]);
    if (least < 5e-6) { continue; }
    sum += call.halves[0][0] / least - 1;
    ++counted;
  }
  CHECK(always.single.size() == counted);
  CHECK(always.mean == Approx(sum / static_cast<double>(counted)));
  CHECK(always.describe().starts_with("choose::always{host{1}}: regret "));
}

TEST_CASE("one chooser is compared with another on the same calls", "[measure]") {
  dispatch::costs const of{test::saxpy_measurements()};
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto const timed =
      timed_with([](std::size_t p, double n) { return p == 0 ? 1e-9 * n : 6e-6 + 0.25e-9 * n; }, 2,
                 0.02, seed);
  choose::by_model const model;
  auto const worse = measure::compare_choosers(timed, of, model, choose::always{on::host{1}}, seed);
  CHECK(worse.second_is_slower());
  CHECK(worse.low < worse.excess);
  CHECK(worse.excess < worse.high);
  CHECK(worse.excess == Approx(worse.second.chosen_seconds / worse.first.chosen_seconds - 1));
  CHECK_THAT(worse.describe(), test::contains("] more time than choose::by_model"));
  CHECK(measure::compare_choosers(timed, of, choose::always{on::host{1}}, model, seed)
            .second_is_faster());
  auto const same = measure::compare_choosers(timed, of, model, model, seed);
  CHECK_FALSE((same.second_is_slower() || same.second_is_faster()));
  CHECK_THROWS_AS(measure::compare_choosers({}, of, model, model), std::invalid_argument);
}

TEST_CASE("the interval of a comparison holds what other calls like these take", "[measure]") {
  dispatch::costs const of{test::saxpy_measurements()};
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  choose::always const one{on::host{1}}, four{on::host{4}};
  // The ratio of a call's times depends on its size, and few large calls take most of the time.
  auto const seconds = [](std::size_t p, double n) {
    return p == 0 ? 1e-9 * n : 1e-6 + 0.9e-9 * n;
  };
  double first = 0, second = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    auto const timed = timed_with(seconds, 2, 0, seed + i);
    first += measure::judge(timed, of, one).chosen_seconds;
    second += measure::judge(timed, of, four).chosen_seconds;
  }
  int held = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    auto const found =
        measure::compare_choosers(timed_with(seconds, 2, 0, seed + 100 + i), of, one, four, i);
    double const is = second / first - 1;
    held += found.low <= is && is <= found.high ? 1 : 0;
  }
  // 95 % are 47 or 48; intervals of half the calls would hold 25.
  CHECK(held >= 38);
}

TEST_CASE("noise cannot flatter the best choice, and its floor says how much it is", "[measure]") {
  // Four equal paths: the least of four noisy times would give every chooser a regret of 10 %.
  auto all = test::saxpy_measurements();
  all.paths.clear();
  for (int threads = 1; threads <= 4; ++threads) {
    all.paths.push_back(test::path_of(on::host{threads}, [](double n) { return 1e-9 * n; }));
  }
  dispatch::costs const of{all};
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto const timed = timed_with([](std::size_t, double n) { return 1e-9 * n; }, 4, 0.1, seed);
  auto const found = measure::judge(timed, of, choose::by_model{});
  CHECK(std::abs(found.total) < 0.05);
  CHECK(found.noise_floor > 0.05);
  CHECK(found.noise_floor < 0.2);
}

TEST_CASE("the model beats its rivals on curves that no power law fits", "[measure]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  double model = 0, law = 0, history = 0;
  for (std::uint64_t m = 0; m < 50; ++m) {
    test::synthetic_machine machine{stats::derive_seed(seed, m)};
    auto const costs = machine.calibrated(seed + m + 1);
    auto const timed =
        timed_with([&](std::size_t p, double n) { return machine.truth[p](n); }, 3, 0.01, seed + m);
    model += measure::judge(timed, costs, choose::by_model{}).total;
    law += measure::judge(timed, costs, examples::power_law{}).total;
    history += measure::judge(timed, costs, examples::history{}).total;
  }
  std::cout << "mean regret: model " << 2 * model << " %, power law " << 2 * law << " %, history "
            << 2 * history << " %\n";
  CHECK(model / 50 < 0.02);
  CHECK(model < law);
  CHECK(model <= history);
}

TEST_CASE("the best threshold in hindsight is the best of all thresholds", "[measure]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::uint64_t m = 0; m < 5; ++m) {
    test::synthetic_machine machine{stats::derive_seed(seed, m)};
    auto const costs = machine.calibrated(seed + m);
    auto timed =
        timed_with([&](std::size_t p, double n) { return machine.truth[p](n); }, 3, 0.1, seed + m);
    timed.calls.resize(40);
    auto const time_of = [&](choose::threshold const& policy) {
      auto const pick = policy.bound(costs);
      double sum = 0;
      for (auto const& each : timed.calls) {
        auto const p = pick(each.known);
        sum += each.halves[0][p] + each.halves[1][p];
      }
      return sum;
    };
    double least = std::numeric_limits<double>::infinity();
    for (auto const& call : timed.calls) {
      for (auto const& low : costs.paths()) {
        for (auto const& high : costs.paths()) {
          for (std::size_t more = 0; more < 2; ++more) {
            least =
                std::min(least, time_of({call.known.amount.size + more, low.where, high.where}));
          }
        }
      }
    }
    CHECK(time_of(examples::best_threshold(timed, costs)) == Approx(least).epsilon(1e-12));
  }
}

TEST_CASE("a threshold never names a wrong path", "[measure]") {
  auto all = test::saxpy_measurements();
  all.paths[1] = {.where = on::host{4}, .wrong = "element 3"};
  auto const inf = std::numeric_limits<double>::infinity();
  auto const timed =
      timed_with([&](std::size_t p, double n) { return p == 0 ? 1e-9 * n : inf; }, 2, 0, 1);
  auto const found = examples::best_threshold(timed, dispatch::costs{all});
  CHECK(found.below == dispatch::path{on::host{1}});
  CHECK(found.from == dispatch::path{on::host{1}});
}

TEST_CASE("calls that no path can run are refused, and a comparison has no ratios of them",
          "[measure]") {
  dispatch::costs const of{test::saxpy_measurements()};
  auto const inf = std::numeric_limits<double>::infinity();
  auto const none = timed_with([&](std::size_t, double) { return inf; }, 2, 0, 1);
  CHECK_THROWS_WITH(measure::judge(none, of, choose::by_model{}),
                    test::contains("no path can run a timed call of size"));
  // One path is impossible for a few calls, so that some draws have none of these.
  auto timed = timed_with([&](std::size_t, double n) { return 1e-9 * n; }, 2, 0, 1);
  auto const longest = std::ranges::max_element(
      timed.calls, {}, [](auto const& each) { return each.known.amount.size; });
  for (auto& half : longest->halves) { half[0] = inf; }
  choose::always const first{on::host{1}};
  auto const same = measure::compare_choosers(timed, of, first, first);
  CHECK(same.low == 0);
  CHECK(same.high == 0);
  // 63 % of the draws have the one call that the other chooser cannot run.
  auto const slower = measure::compare_choosers(timed, of, choose::always{on::host{4}}, first);
  CHECK(slower.high == inf);
  CHECK(slower.second.max == inf);
  for (auto& call : timed.calls) {
    for (auto& half : call.halves) { half[0] = inf; }
  }
  CHECK(
      measure::compare_choosers(timed, of, choose::always{on::host{4}}, first).second_is_slower());
  CHECK_THROWS_WITH(measure::judge({}, of, first), test::contains("0 timed calls"));
}

TEST_CASE("regrets of several tasks are those of all their calls", "[measure]") {
  dispatch::costs const of{test::saxpy_measurements()};
  auto const some = timed_with([](std::size_t p, double n) { return 1e-9 * n * (1 + double(p)); },
                               2, 0.05, test::fresh_seed());
  auto more = some, rest = some;
  more.calls.resize(100);
  rest.calls.erase(rest.calls.begin(), rest.calls.begin() + 100);
  choose::always const policy{on::host{4}};
  auto const whole = measure::judge(some, of, policy);
  auto sum = measure::judge(more, of, policy);
  sum += measure::judge(rest, of, policy);
  CHECK(sum.total == Approx(whole.total));
  CHECK(std::abs(sum.noise_floor - whole.noise_floor) < 1e-12);
  CHECK(sum.p95 == Approx(whole.p95));
  CHECK(sum.max == whole.max);
  CHECK(sum.single == whole.single);
}
