// SPDX-License-Identifier: Apache-2.0
/// @file
/// `check_crossover`: predicted crossovers beside those that bisection finds by timing calls.
#pragma once

#include <assay/dispatch/crossover.hpp>
#include <assay/dispatch/sampling.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace assay::examples {

/// A predicted crossing, and the one that was bisected near it.
struct checked_crossing {
  dispatch::crossing predicted;
  double measured = 0;  ///< 0: the winner does not change near the prediction
  double low = 0;   ///< the last size at which the winner before the dispatch::crossing was seen
  double high = 0;  ///< the first size at which the winner after it was seen

  /// |predicted - measured| / measured; infinite where nothing was measured.
  double error() const noexcept {
    return measured > 0 ? std::abs(predicted.size / measured - 1)
                        : std::numeric_limits<double>::infinity();
  }
};

/// A crossover with its check.
struct crossover_check {
  dispatch::crossover predicted;
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
checked_crossing bisect(dispatch::crossing const& predicted, dispatch::size_range within,
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
crossover_check check_crossover(dispatch::crossover const& predicted, dispatch::size_range sizes,
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

/// log2 of the times of two paths of a bench at a size, from interleaved calls.
template <class Bench>
double timed_ratio(Bench& bench, std::size_t first, std::size_t second, std::size_t size,
                   stats::random_source& random) {
  constexpr int rounds = 15;
  bench.open(size);
  auto const times = dispatch::detail::interleaved(bench, {first, second}, rounds, 0.5, random);
  return std::log2(stats::summarise(times[0]).median / stats::summarise(times[1]).median);
}

}  // namespace assay::examples
