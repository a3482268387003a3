// SPDX-License-Identifier: Apache-2.0
/// @file
/// The size of an epoch: the timed launches of a cell, and the number of blocks.
#pragma once

#include <assay/measure/epoch_effects.hpp>
#include <assay/measure/subject.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace assay::measure {

/// Launches longer than this have one launch in a cell, and so 4 in an epoch instead of 16.
inline constexpr double long_launch_seconds = 20e-3;

/// The timed launches of every cell, for variants with launches between `fastest` and `slowest`
/// seconds. All variants have one number, because a fixed cost per cell (an event pair, a drain)
/// must be spread over equally many launches.
///
/// - Enough of the fastest to fill `cell_seconds`, at most `most_launches`. Cells of the slowest
/// take
///   at most ten times `cell_seconds`.
/// - At least 4, so that an epoch has 16 launches of each variant; at least 5 below 0.2 ms. Where
///   one simulated call in 20 is slow, 4 launches in an epoch give intervals of 67 %.
/// - One where the slowest takes more than 20 ms.
inline int launches_per_cell(double fastest, double slowest, double cell_seconds,
                             int most_launches = 200, double with_preparation = 0) {
  if (!(cell_seconds > 0) || !std::isfinite(cell_seconds)) {
    throw std::invalid_argument("cell_seconds is positive, not " +
                                stats::number_text(cell_seconds));
  }
  auto const to_fill = [&](double seconds, double launch) {
    return std::clamp(std::ceil(seconds / std::max(launch, 1e-12)), 1.0, 1.0 * most_launches);
  };
  double const least = slowest > long_launch_seconds ? 1 : fastest < 0.2e-3 ? 5 : 4;
  return static_cast<int>(
      std::min(std::max(least, to_fill(cell_seconds, fastest)),
               std::max(least, to_fill(10 * cell_seconds, std::max(slowest, with_preparation)))));
}

/// True when the last three rounds of a warm-up agree within 0.5 % in the time of every variant.
inline bool is_steady(std::vector<std::vector<double>> const& rounds) {
  if (rounds.size() < 3) { return false; }
  auto const last = rounds.end() - 3;
  for (std::size_t i = 0; i < last[0].size(); ++i) {
    auto const [low, high] = std::minmax({last[0][i], last[1][i], last[2][i]});
    if (!(high - low <= 0.005 * high)) { return false; }
  }
  return true;
}

/// The longest time of a cell over its clocks: the time for which it kept the machine; 0 of none.
inline double longest_clock(cell const& measured) noexcept {
  double longest = 0;
  for (double const seconds : measured.seconds) {
    if (std::isfinite(seconds)) { longest = std::max(longest, seconds); }
  }
  return longest;
}

/// The number of blocks of the next epoch, from the variances of the epochs before.
///
/// The first two epochs have `first` blocks. Then there are enough blocks that the noise within an
/// epoch is below a quarter of the margin, or below the differences between epochs. There are at
/// most `affordable` and at most 8 blocks: beyond twice the time of an epoch's set-up, another
/// epoch is worth more than another block. Exchanged labels leave the variances as they are.
inline int blocks_for(epoch_effects const& so_far, clock on, std::size_t contrasts, double margin,
                      double affordable, int first = 2) {
  if (so_far.epochs() < 2) { return first; }
  double const quarter = std::log1p(margin) / 4;
  double wanted = 1;
  for (std::size_t k = 0; k < contrasts; ++k) {
    double const within = so_far.block_variance(on, k);
    double const deviation = stats::standard_deviation(so_far.effects(on, k));
    // The variance of epoch effects contains the mean noise of their blocks.
    double const between =
        so_far.epochs() < 4 ? 0 : deviation * deviation - within / so_far.mean_blocks();
    double const ratio = within / std::max(quarter * quarter, between);
    if (std::isfinite(ratio)) { wanted = std::max(wanted, ratio); }
  }
  return static_cast<int>(std::ceil(std::min({wanted, std::max(1.0, affordable), 8.0})));
}

}  // namespace assay::measure
