// SPDX-License-Identifier: Apache-2.0
/// @file
/// `check_crossover`: predicted crossovers beside those that bisection finds by timing calls.
#pragma once

#include "crossover.hpp"

#include <assay/dispatch/timing.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/randomised_blocks.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace assay::examples {

/// A predicted crossing, and the one that was bisected near it.
struct checked_crossing {
  crossing predicted;
  double measured = 0;  ///< 0: the winner does not change near the prediction
  double low = 0;       ///< the last size at which the winner before the crossing was seen
  double high = 0;      ///< the first size at which the winner after it was seen

  /// |predicted - measured| / measured; infinite where nothing was measured.
  double error() const noexcept {
    return measured > 0 ? std::abs(predicted.size / measured - 1)
                        : std::numeric_limits<double>::infinity();
  }
};

/// A crossover with its check.
struct crossover_check {
  crossover predicted;
  std::vector<checked_crossing> crossings{};
  /// Without crossings: the predicted winner wins at both ends of the range and where the paths are
  /// nearest to each other. With crossings: each was found.
  bool right = true;
  int sizes = 0;  ///< the number of sizes that were timed
};

namespace detail {

/// A search for one crossing. `after(size)`, at least 0 where the winner after the
/// crossing wins, is log2 of the ratio of both times.
template <class Ratio>
checked_crossing bisect(crossing const& predicted, dispatch::size_range within,
                        Ratio const& after) {
  constexpr double enough = 1.02;  // the ratio of the ends of the interval
  checked_crossing found{.predicted = predicted};
  auto const first = static_cast<double>(within.first), last = static_cast<double>(within.last);
  struct end {
    double size, seen;
  };
  std::optional<end> low, high;
  // Steps away from the prediction grow, so that a good prediction needs few.
  double at = predicted.size;
  for (double step = 1.1; !low; step *= step) {
    if (at <= first && high) { return found; }
    at = std::max(first, std::min(std::floor(at / step), at - 1));
    end const seen{at, after(at)};
    (seen.seen < 0 ? low : high) = seen;
  }
  at = predicted.size;
  for (double step = 1.1; !high; step *= step) {
    if (at >= last && low->size >= last) { return found; }
    at = std::min(last, std::max(std::ceil(at * step), at + 1));
    end const seen{at, after(at)};
    (seen.seen < 0 ? low : high) = seen;
  }
  while (high->size / low->size > enough && high->size - low->size > 1) {
    double const middle =
        std::clamp(std::round(std::sqrt(low->size * high->size)), low->size + 1, high->size - 1);
    end const seen{middle, after(middle)};
    (seen.seen < 0 ? low : high) = seen;
  }
  double const share = low->seen / (low->seen - high->seen);
  found.measured = low->size * std::pow(high->size / low->size, share);
  found.low = low->size, found.high = high->size;
  return found;
}

}  // namespace detail

/// Checks a predicted crossover over a range of sizes. `ratio(size)` times both paths and gives
/// log2 of the first time over the second. `nearest` is the size at which the predicted times are
/// nearest to each other: there a "never" is most likely wrong.
template <class Ratio>
crossover_check check_crossover(crossover const& predicted, dispatch::size_range sizes,
                                double nearest, Ratio const& ratio) {
  constexpr double tie = 0.04;  // as log2; below these 3 % noise decides
  crossover_check made{.predicted = predicted};
  auto const at = [&](double size) {
    ++made.sizes;
    return ratio(static_cast<std::size_t>(size));
  };
  auto const& all = predicted.crossings;
  bool second_wins = predicted.second_wins_first;
  for (std::size_t i = 0; i < all.size(); ++i) {
    second_wins = !second_wins;
    auto const border = [&](std::size_t k) {  // between two crossings
      return static_cast<std::size_t>(std::sqrt(all[k].size * all[k + 1].size));
    };
    dispatch::size_range const within{i == 0 ? sizes.first : border(i - 1),
                                      i + 1 == all.size() ? sizes.last : border(i)};
    made.crossings.push_back(detail::bisect(
        all[i], within, [&](double size) { return second_wins ? at(size) : -at(size); }));
    made.right = made.right && made.crossings.back().measured > 0;
  }
  if (!predicted.known || !all.empty()) { return made; }
  for (double const size :
       {static_cast<double>(sizes.first), nearest, static_cast<double>(sizes.last)}) {
    made.right = made.right && (second_wins ? at(size) : -at(size)) > -tie;
  }
  return made;
}

/// The calibrated size at which the predicted times of two paths are nearest to each other.
inline double nearest_size(dispatch::costs const& of, std::size_t first, std::size_t second,
                           std::function<dispatch::facts(std::size_t)> const& at) {
  double nearest = 1, least = std::numeric_limits<double>::infinity();
  for (auto const& each : of.paths()[first].knots) {
    auto const known = at(static_cast<std::size_t>(each.size));
    double const apart = std::abs(std::log2(of.seconds(first, known) / of.seconds(second, known)));
    if (apart < least) { least = apart, nearest = each.size; }
  }
  return nearest;
}

/// Puts each bisected crossing where a line through the ratios at nine sizes around it has none.
/// `ratios(sizes)` gives log2 of the first time over the second at each: the machine changes its
/// speed in less time than a bisection takes, and nine sizes that take turns for longer do not show
/// it. A crossing stays where the line has its zero beyond the nine sizes.
template <class Ratios>
void refine(crossover_check& of, dispatch::size_range within, Ratios const& ratios) {
  constexpr int each_side = 4;
  constexpr double step = 1.0 / 16;  // in octaves
  for (auto& crossing : of.crossings) {
    if (!(crossing.measured > 0)) { continue; }
    std::vector<std::size_t> sizes;
    for (int i = -each_side; i <= each_side; ++i) {
      auto const size =
          static_cast<std::size_t>(std::round(crossing.measured * std::exp2(i * step)));
      if (size < within.first || size > within.last) { continue; }
      if (sizes.empty() || size > sizes.back()) { sizes.push_back(size); }
    }
    auto const seen = ratios(sizes);
    double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      double const x = std::log2(static_cast<double>(sizes[i]) / crossing.measured);
      sum_x += x, sum_y += seen[i], sum_xx += x * x, sum_xy += x * seen[i];
    }
    auto const n = static_cast<double>(sizes.size());
    double const slope = (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x);
    double const zero = (sum_x - sum_y / slope) / n;
    if (!(std::abs(zero) <= each_side * step)) { continue; }  // or no number
    crossing.measured *= std::exp2(zero);
    crossing.low = std::min(crossing.low, crossing.measured);
    crossing.high = std::max(crossing.high, crossing.measured);
  }
}

/// log2 of the times of two paths of a bench at some sizes, which take turns in rounds. There are
/// `least` rounds or more, and as many as end in `seconds`.
template <class Bench>
std::vector<double> timed_ratios(Bench& bench, std::size_t first, std::size_t second,
                                 std::vector<std::size_t> const& sizes, int least, double seconds,
                                 stats::random_source& random) {
  std::vector<std::size_t> const both{first, second};
  std::vector<std::vector<int>> groups;
  bench.close();
  for (auto const size : sizes) {
    bench.open(size);
    groups.push_back(dispatch::detail::group_sizes(bench, both));
  }
  std::vector<std::array<std::vector<double>, 2>> times(sizes.size());
  double const begin = bench.now();
  for (int round = 0; round < least || bench.now() - begin < seconds; ++round) {
    for (auto const i : stats::draw_order(sizes.size(), random)) {
      bench.open_again(i);
      for (auto const k : stats::draw_order(2, random)) {
        times[i][k].push_back(
            dispatch::detail::seconds_after_its_own(bench, both[k], groups[i][k]));
      }
    }
  }
  std::vector<double> found;
  for (auto const& [one, other] : times) {
    found.push_back(std::log2(stats::summarise(one).median / stats::summarise(other).median));
  }
  return found;
}

}  // namespace assay::examples
