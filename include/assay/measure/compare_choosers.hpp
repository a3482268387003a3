// SPDX-License-Identifier: Apache-2.0
/// @file
/// `compare_choosers`: what one chooser of `dispatch` wins against another on the same calls.
#pragma once

#include <assay/measure/regret.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

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
    std::array<char, 96> text{};
    (void)std::snprintf(text.data(), text.size(), " takes %.1f %% [%.1f, %.1f] more time than ",
                        100 * excess, 100 * low, 100 * high);
    return second.chooser + text.data() + first.chooser;
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
