// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to dispatch. `interleaved`: times of several paths in rounds; `summarised`: their
/// medians.
#pragma once

#include <assay/dispatch/curve.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/randomised_blocks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace assay::dispatch::detail {

/// The median of times, with the interval of the median as a spread. The interval goes from the
/// least time to the largest. With 8 times or more it leaves out one at each end, and holds the
/// median with a probability of 93 % or more.
inline knot summarised(std::size_t size, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  auto const cut = times.size() >= 8 ? std::size_t{1} : 0;
  double const median = 0.5 * (times[(times.size() - 1) / 2] + times[times.size() / 2]);
  return {static_cast<double>(size), median,
          0.5 * std::log2(times[times.size() - 1 - cut] / times[cut])};
}

/// The number of calls in a group that takes `group_seconds()` or more. Ticks of the clock do not
/// matter to such a group. One long group may be an outlier, so a group must be long enough five
/// times in a row, or 300 times too long once.
template <class Bench>
int group_size(Bench& bench, std::size_t path) {
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

/// Times of the paths `of` at the open size, in rounds. Each round has all paths in random order.
/// No round begins after `limit_seconds`, but at least a third of the rounds run.
template <class Bench>
std::vector<std::vector<double>> interleaved(Bench& bench, std::vector<std::size_t> of, int rounds,
                                             double limit_seconds, stats::random_source& random) {
  std::vector<int> calls;
  for (auto const path : of) { calls.push_back(group_size(bench, path)); }
  std::vector<std::vector<double>> times(of.size());
  double const begin = bench.now();
  for (int round = 0; round < rounds && (3 * round < rounds || bench.now() - begin < limit_seconds);
       ++round) {
    for (auto const i : stats::draw_order(of.size(), random)) {
      times[i].push_back(bench.seconds(of[i], calls[i]) / calls[i]);
    }
  }
  return times;
}

}  // namespace assay::dispatch::detail
