// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to dispatch. `interleaved`: times of several paths in rounds; `summarised`: their
/// medians.
#pragma once

#include <assay/dispatch/bench.hpp>
#include <assay/dispatch/curve.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/randomised_blocks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace assay::dispatch::detail {

/// How many of `count` sorted times lie outside of the interval of the median, at each end. The
/// interval holds the median with a probability of 93 %, by the binomial law of the times below the
/// median. Of fewer than 8 times it goes from the least to the largest.
inline std::size_t outside_of_median(std::size_t count) {
  constexpr double most_outside = 0.071;
  double missed = 0;  // the probability that at most `cut` times lie on one side of the median
  double term = 2 * std::exp2(-static_cast<double>(count));
  std::size_t cut = 0;
  for (; 2 * cut + 1 < count; ++cut) {
    missed += term;
    term *= static_cast<double>(count - cut) / static_cast<double>(cut + 1);
    if (missed + term > most_outside) { break; }
  }
  return cut;
}

/// The median of times, with half of its 93 % interval as a spread.
inline knot summarised(std::size_t size, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  auto const cut = outside_of_median(times.size());
  double const median = 0.5 * (times[(times.size() - 1) / 2] + times[times.size() / 2]);
  return {static_cast<double>(size), median,
          0.5 * std::log2(times[times.size() - 1 - cut] / times[cut])};
}

/// The number of calls in a group that takes `group_seconds()` or more. Ticks of the clock do not
/// matter to such a group. One long group may be an outlier, so a group must be long enough five
/// times in a row, or 300 times too long once.
inline int group_size(timed_paths& bench, std::size_t path) {
  int calls = 1;
  for (int long_ones = 0; long_ones < 5 && calls < 1 << 20;) {
    double const taken = bench.seconds(path, calls);
    if (taken > 300 * bench.group_seconds()) { break; }
    if (taken >= bench.group_seconds()) {
      ++long_ones;
      continue;
    }
    double const share = bench.group_seconds() / std::max(taken, 1e-12);
    calls = std::clamp(static_cast<int>(1.2 * calls * std::min(share, 16.0)), calls + 1, 1 << 20);
    long_ones = 0;
  }
  return calls;
}

/// Rounds of a moment begin in this time, but for the first third: caches warm up again in it,
/// after the arrays of other calls.
inline constexpr double moment_seconds = 0.0125;

/// The numbers of calls in the groups of several paths at the open size.
inline std::vector<int> group_sizes(timed_paths& bench, std::vector<std::size_t> const& of) {
  std::vector<int> calls;
  for (auto const path : of) { calls.push_back(group_size(bench, path)); }
  return calls;
}

/// Seconds of a call in a group, right after a group of the same path that is not timed. Else the
/// path before decides: caches hold its arrays, and a GPU that waited is slow. On an H100, copies
/// after 16 host threads took 1.1 to 2.1 times as long, and a kernel after a pause 2.3 times. Long
/// calls are timed at once: caches matter little to them.
inline double seconds_after_its_own(timed_paths& bench, std::size_t path, int calls) {
  constexpr double is_long = 0.05;
  double const first = bench.seconds(path, calls);
  return (first > is_long ? first : bench.seconds(path, calls)) / calls;
}

/// Times of the paths `of` at the open size, in rounds. Each round has all paths in random order,
/// in groups of `calls`. No round begins after `limit_seconds`, but at least a third of them run.
inline std::vector<std::vector<double>> interleaved(timed_paths& bench,
                                                    std::vector<std::size_t> const& of,
                                                    std::vector<int> const& calls, int rounds,
                                                    double limit_seconds,
                                                    stats::random_source& random) {
  std::vector<std::vector<double>> times(of.size());
  double const begin = bench.now();
  for (int round = 0; round < rounds && (3 * round < rounds || bench.now() - begin < limit_seconds);
       ++round) {
    for (auto const i : stats::draw_order(of.size(), random)) {
      times[i].push_back(seconds_after_its_own(bench, of[i], calls[i]));
    }
  }
  return times;
}

}  // namespace assay::dispatch::detail
