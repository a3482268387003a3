// SPDX-License-Identifier: Apache-2.0
/// @file
/// The size of an epoch: the launches of a cell, and the number of blocks.
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

/// The launches of every cell of a comparison. All variants have one size, because a fixed cost per
/// cell (an event pair, a drain) must be spread over equally many launches.
struct cell_size {
  int wash_out = 2;
  int launches = 5;
  bool operator==(cell_size const&) const = default;
};

/// Sizes cells for variants with launches between `fastest` and `slowest` seconds.
///
/// Timed launches:
/// - Launches below 0.2 ms: enough of the fastest to fill `cell_seconds`, which by default is 1 ms
///   or 2000 ticks of an event. At least 5, so that one odd launch moves the mean little, and at
///   most `most_launches`.
/// - Launches from 0.2 ms on: enough to fill `cell_seconds`.
/// - Launches from 0.5 ms on: one. Host noise lasts for 10 launches and more, so variants that
///   follow each other closely share it. (On a virtual machine with one H100, batches of 0.5 to
///   2 ms had a correlation of 0.8 with the next batch.)
/// - Cells of the slowest variant take at most ten times `cell_seconds`, where these rules allow
/// it.
///
/// Wash-out launches:
/// - Below 0.2 ms: two. The first finds the caches of the variant before, and the second is clear
/// of
///   that variant even where launches overlap.
/// - From 0.2 ms on: one.
/// - From 2 ms on: none. A launch that is bound by memory moves 6 GB, a hundred times the L2 cache.
///   For other launches the carry-over guard decides.
inline cell_size size_cells(double fastest, double slowest, double cell_seconds,
                            int most_launches = 200) {
  if (!(cell_seconds > 0) || !std::isfinite(cell_seconds)) {
    throw std::invalid_argument("cell_seconds is positive, not " +
                                stats::number_text(cell_seconds));
  }
  auto const wanted = [&](double seconds, double launch) {
    if (launch >= 0.5e-3) { return 1; }
    int const to_fill = static_cast<int>(
        std::min<double>(most_launches, std::ceil(seconds / std::max(launch, 1e-12))));
    return launch >= 0.2e-3 ? to_fill : std::max(to_fill, 5);
  };
  int const wash_out = fastest >= 2e-3 ? 0 : fastest >= 0.2e-3 ? 1 : 2;
  auto const fitting = std::ceil(10 * cell_seconds / std::max(slowest, 1e-12));
  int const affordable = static_cast<int>(std::clamp<double>(fitting, 1, most_launches));
  return {wash_out, std::min(wanted(cell_seconds, fastest),
                             std::max(affordable, wanted(cell_seconds, slowest)))};
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
/// The first two epochs have 2 blocks. Then there are enough blocks that the noise within an epoch
/// is below a quarter of the margin, or below the differences between epochs. There are at most
/// `affordable` and at most 8 blocks: beyond twice the time of an epoch's set-up, another epoch is
/// worth more than another block. Exchanged labels leave the variances as they are.
inline int blocks_for(epoch_effects const& so_far, clock on, std::size_t contrasts, double margin,
                      double affordable) {
  if (so_far.epochs() < 2) { return 2; }
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
