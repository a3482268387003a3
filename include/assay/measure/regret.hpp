// SPDX-License-Identifier: Apache-2.0
/// @file
/// `regret`: what a chooser's decisions cost against the best possible ones, and
/// `compare_choosers`: what one chooser wins against another on the same calls.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/dispatch/choose.hpp>
#include <assay/dispatch/timed_calls.hpp>
#include <assay/measure/calibrate.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

using dispatch::stream_of_calls;
using dispatch::time_calls;
using dispatch::timed_calls;

namespace detail {

/// A share in per cent, with one digit after the point.
inline std::string tenths_of_percent(double share) {
  return stats::number_text(100 * share, 1, std::chars_format::fixed);
}

}  // namespace detail

/// The regret of a chooser, as shares of the best possible time.
struct regret {
  std::string chooser;
  double total = 0;  ///< the sum of all chosen times over the sum of all best times, less 1
  /// Of single calls of 5 us and more, where each counts as much: a few long calls decide the
  /// total. In the committed study the longest tenth had 77 to 87 % of the time.
  double mean = 0, p95 = 0, max = 0;
  /// In one half, the time of the path that was best in the other, over the least time there, less
  /// 1. A total whose size is below it is not told from zero.
  double noise_floor = 0;
  /// The sums behind the shares: of the chosen paths, of the best paths, and of the least times.
  double chosen_seconds = 0, best_seconds = 0, least_seconds = 0;
  std::vector<double> single{};  ///< the regret of each call of 5 us and more, in rising order

  /// The shares, from the sums and the single calls.
  void conclude() {
    total = chosen_seconds / best_seconds - 1;
    noise_floor = std::max(0.0, best_seconds / least_seconds - 1);  // quotients round
    if (single.empty()) { return; }
    std::sort(single.begin(), single.end());
    mean = stats::mean(single);
    p95 = stats::quantile(single, 0.95);
    max = single.back();
  }
  /// Adds the calls of another judgement, such as those of another task.
  regret& operator+=(regret const& other) {
    chosen_seconds += other.chosen_seconds;
    best_seconds += other.best_seconds;
    least_seconds += other.least_seconds;
    single.insert(single.end(), other.single.begin(), other.single.end());
    conclude();
    return *this;
  }
  /// `choose::by_model: regret 0.4 % (noise 0.3 %), mean 0.6 %, p95 1.2 %, max 3.0 %`.
  std::string describe() const {
    auto const text = detail::tenths_of_percent;
    return concat({chooser, ": regret ", text(total), " % (noise ", text(noise_floor), " %), mean ",
                   text(mean), " %, p95 ", text(p95), " %, max ", text(max), " %"});
  }
};

/// Judges a chooser by timed calls. Throws `std::invalid_argument` without calls, and for a call
/// that no path can run.
/// The best path is chosen in one half and timed in the other, so that noise cannot flatter it;
/// both halves have both roles.
template <dispatch::chooser C>
regret judge(timed_calls const& timed, dispatch::costs const& of, C const& policy) {
  if (timed.calls.empty()) {
    throw std::invalid_argument("0 timed calls: a chooser is judged by one or more");
  }
  auto const pick = policy.bound(of);
  regret found{.chooser = describe(policy)};
  for (auto const& call : timed.calls) {
    auto const index = pick(call.known);
    double mine = 0, its = 0;
    for (std::size_t half = 0; half < 2; ++half) {
      auto const& chooses = call.halves[half];
      auto const& times = call.halves[1 - half];
      auto const fastest = std::min_element(chooses.begin(), chooses.end()) - chooses.begin();
      mine += times[index];
      its += times[static_cast<std::size_t>(fastest)];
      found.least_seconds += *std::min_element(times.begin(), times.end());
    }
    if (!std::isfinite(its)) {
      throw std::invalid_argument(
          concat({"no path can run a timed call of size ", std::to_string(call.known.amount.size),
                  ": leave it out"}));
    }
    found.chosen_seconds += mine;
    found.best_seconds += its;
    constexpr double counts = 5e-6;  // a choice is a small part of such a call
    if (0.5 * its >= counts) { found.single.push_back(mine / its - 1); }
  }
  found.conclude();
  return found;
}

/// Two choosers on the same timed calls.
struct chooser_comparison {
  regret first, second;
  /// The time that the second chooser's calls take over that of the first, less 1, and its 95 %
  /// interval over other calls like these.
  double excess = 0, low = 0, high = 0;

  bool second_is_slower() const noexcept { return low > 0; }
  bool second_is_faster() const noexcept { return high < 0; }
  /// `choose::always{host{1}} takes 12.1 % [8.4, 16.0] more time than choose::by_model`.
  std::string describe() const {
    auto const text = detail::tenths_of_percent;
    return concat({second.chooser, " takes ", text(excess), " % [", text(low), ", ", text(high),
                   "] more time than ", first.chooser});
  }
};

/// Compares two choosers over a stream of calls that `time_calls` timed. The interval is a
/// bootstrap: calls are drawn again by the seed, 2,000 times. Throws `std::invalid_argument`
/// without calls.
template <dispatch::chooser A, dispatch::chooser B>
chooser_comparison compare_choosers(timed_calls const& timed, dispatch::costs const& of,
                                    A const& first, B const& second, std::uint64_t seed = 1) {
  if (timed.calls.empty()) {
    throw std::invalid_argument("0 timed calls: choosers are compared on one or more");
  }
  auto const a = first.bound(of);
  auto const b = second.bound(of);
  std::vector<std::pair<double, double>> taken;  // by both choosers, of each call
  for (auto const& call : timed.calls) {
    auto const time = [&](std::size_t path) { return call.halves[0][path] + call.halves[1][path]; };
    taken.emplace_back(time(a(call.known)), time(b(call.known)));
  }
  auto const excess = [&](auto const& draw) {
    double one = 0, other = 0;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      auto const& [mine, its] = taken[draw(i)];
      one += mine, other += its;
    }
    return other / one - 1;
  };
  stats::random_source random{seed};
  std::vector<double> again(2000);
  for (auto& each : again) {
    each =
        excess([&](std::size_t) { return static_cast<std::size_t>(random.below(taken.size())); });
  }
  // Where both choosers named an impossible path, the ratio of their times is no number.
  std::erase_if(again, [](double each) { return std::isnan(each); });
  std::sort(again.begin(), again.end());
  return {.first = judge(timed, of, first),
          .second = judge(timed, of, second),
          .excess = excess([](std::size_t i) { return i; }),
          .low = stats::quantile(again, 0.025),
          .high = stats::quantile(again, 0.975)};
}

}  // namespace assay::measure
