// SPDX-License-Identifier: Apache-2.0
/// @file
/// `find_crossover`: the sizes from which one path is faster than another, or "never".
#pragma once

#include <assay/dispatch/costs.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::examples {

using dispatch::costs, dispatch::estimate, dispatch::facts, dispatch::path;

/// A size from which the other path wins, with its interval.
struct crossing {
  double size = 0;
  double low = 0;
  double high = 0;
};

namespace detail {

/// A size without decimals.
inline std::string whole(double size) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.0f", size);
  return text.data();
}

}  // namespace detail

/// The sizes at which each of two paths wins.
struct crossover {
  path first;
  path second;
  bool known = false;              ///< one path wins at one size or more
  bool second_wins_first = false;  ///< the second path is faster at the smallest size
  bool doubtful = false;           ///< somewhere the estimates cross, and their intervals do not
  std::vector<crossing> crossings{};

  bool never() const noexcept {
    return known && !doubtful && crossings.empty() && !second_wins_first;
  }
  bool always() const noexcept {
    return known && !doubtful && crossings.empty() && second_wins_first;
  }
  bool from_one_size_on() const noexcept { return crossings.size() == 1 && !second_wins_first; }

  /// The sizes at which the second path is faster: `from 12000 on [11000, 13000]`, or `never`,
  /// `always`, `at no size for sure`.
  std::string sizes_of_second() const {
    if (!known) { return "at no size for sure"; }
    if (crossings.empty()) {
      return std::string{second_wins_first ? "always" : "never"} + (doubtful ? ", or nearly" : "");
    }
    std::string text;
    bool second_wins = second_wins_first;
    for (auto const& each : crossings) {
      second_wins = !second_wins;
      text += (text.empty() ? "" : ", ") + std::string{second_wins ? "from " : "up to "} +
              detail::whole(each.size) + (second_wins ? " on [" : " [") + detail::whole(each.low) +
              ", " + detail::whole(each.high) + ']';
    }
    return text;
  }
  /// `host{4} is faster than host{1} from 12000 on [11000, 13000]`.
  std::string describe() const {
    if (!known) { return second.describe() + " and " + first.describe() + " differ at no size"; }
    return second.describe() + " is faster than " + first.describe() + ' ' + sizes_of_second();
  }
};

namespace detail {

/// Half of the interval of the ratio of two times, in units of log2.
inline double half_of_ratio(estimate const& t, estimate const& u) noexcept {
  constexpr double from_90_to_95 = 1.4;  // 1.19 for normal errors; these have heavier tails
  if (!std::isfinite(t.seconds) || !std::isfinite(u.seconds)) { return 0; }  // one is impossible
  return from_90_to_95 * std::hypot(std::log2(t.high / t.seconds), std::log2(u.high / u.seconds));
}

}  // namespace detail

/// The regions of sizes in which each of two paths wins, of calls with the facts `at(size)`.
///
/// A path wins at a size where the interval of the ratio of both times excludes 1. Between two
/// winners lies a crossing: its interval goes from the last size of one to the first of the other.
/// The interval goes on to 0 or to infinity where only the
/// estimates cross, at the smallest or the largest sizes. Throws `std::invalid_argument` for
/// paths that are not there, and where both compute wrong results.
inline crossover find_crossover(
    costs const& of, path const& first, path const& second,
    std::function<facts(std::size_t)> const& at = dispatch::facts_of_size) {
  auto const a = of.index_of(first);
  auto const b = of.index_of(second);
  auto const& sizes = of.paths()[a].wrong.empty() ? of.paths()[a].knots : of.paths()[b].knots;
  if (sizes.empty()) {
    throw std::invalid_argument(first.describe() + " and " + second.describe() +
                                " both compute wrong results for " + of.task());
  }
  crossover found{.first = first, .second = second};
  constexpr int steps_per_octave = 32;
  double const smallest = sizes.front().size;
  double const growth = sizes.back().size / smallest;
  auto const steps = std::ceil(std::log2(growth) * steps_per_octave);

  int winner = 0;          // -1: the first path, 1: the second
  double last_size = 0;    // the last size with this winner
  double sign_change = 0;  // where the estimates cross after it
  int flips = 0;           // crossings of the estimates since then
  int before = 0;          // the faster path one step earlier, by the estimates
  double size_before = 0;  // of that step
  double ratio_before = 0;
  for (double i = 0; i <= steps; ++i) {
    double const size = std::round(smallest * std::pow(growth, i / steps));
    auto const known = at(static_cast<std::size_t>(size));
    auto const t = of.predict(a, known).total;
    auto const u = of.predict(b, known).total;
    double const ratio = std::log2(t.seconds / u.seconds);  // above 0: the second path is faster
    double const half = detail::half_of_ratio(t, u);
    int const now = ratio > 0 ? 1 : -1;
    if (now != before) {
      sign_change = size;
      // Times are straight lines between two steps, by their logarithms.
      if (before != 0 && std::isfinite(ratio - ratio_before)) {
        auto const share = ratio_before / (ratio_before - ratio);
        sign_change = std::ceil(size_before * std::pow(size / size_before, share));
      }
      flips += before == 0 ? 0 : 1;
    }
    if (before == 0) { found.second_wins_first = now == 1; }
    before = now;
    size_before = size;
    ratio_before = ratio;
    if (!(std::abs(ratio) > half)) { continue; }
    int const reigning = winner != 0 ? winner : found.second_wins_first ? 1 : -1;
    if (flips > (now != reigning ? 1 : 0)) { found.doubtful = true; }
    flips = 0;
    if (now != reigning) { found.crossings.push_back({sign_change, last_size, size}); }
    found.known = true;
    winner = now;
    last_size = size;
  }
  found.doubtful = found.doubtful || flips > 1;
  if (found.known && before != winner) {
    found.crossings.push_back({sign_change, last_size, std::numeric_limits<double>::infinity()});
  }
  return found;
}

/// A range of sizes on which no path is faster for sure than this one, up to the next region.
struct region {
  std::size_t path = 0;  ///< its number in `costs::paths`
  crossing from;         ///< all 0 in the first region
};

/// The regions of the calibrated sizes, in their order, of calls with the facts `at(size)`. A path
/// keeps its region where another path is a little faster by the estimates alone.
inline std::vector<region> find_regions(
    costs const& of, std::function<facts(std::size_t)> const& at = dispatch::facts_of_size) {
  auto const measured =
      std::find_if(of.paths().begin(), of.paths().end(),
                   [](dispatch::path_costs const& each) { return each.wrong.empty(); });
  auto const& sizes = measured->knots;  // all paths were measured at these sizes
  constexpr double steps_per_octave = 32;
  double const growth = sizes.back().size / sizes.front().size;
  auto const steps = std::ceil(std::log2(growth) * steps_per_octave);
  std::vector<region> found;
  for (double i = 0; i <= steps; ++i) {
    double const size = std::round(sizes.front().size * std::pow(growth, i / steps));
    auto const known = at(static_cast<std::size_t>(size));
    auto const best = of.best(known);
    if (found.empty()) { found.push_back({best, {}}); }
    auto const last = found.back().path;
    auto const t = of.predict(last, known).total;
    auto const u = of.predict(best, known).total;
    if (best == last || !(std::log2(t.seconds / u.seconds) > detail::half_of_ratio(t, u))) {
      continue;
    }
    auto const both = find_crossover(of, of.paths()[last].where, of.paths()[best].where, at);
    crossing first{size, 0, size};
    for (auto const& each : both.crossings) {
      if (each.high <= size) { first = each; }
    }
    bool const never_won = found.size() == 1 && first.low == 0;
    if (never_won) { found.clear(); }
    found.push_back({best, never_won ? crossing{} : first});
  }
  return found;
}

}  // namespace assay::examples
