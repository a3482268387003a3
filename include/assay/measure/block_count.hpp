// SPDX-License-Identifier: Apache-2.0
/// @file
/// The number of blocks of an epoch, from the variances of the epochs before.
#pragma once

#include <assay/measure/epoch_effects.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace assay::measure {

/// The blocks of the next epoch: so many that the noise within an epoch adds no more to its effect
/// than a quarter of the margin, or no more than epochs differ anyway. 2 for the first two epochs.
///
/// At most `affordable` and at most 8: beyond twice the time of an epoch's set-up, another epoch is
/// worth more than another block. The rule sees variances only, and exchanged labels leave those as
/// they are.
inline int blocks_for(epoch_effects const& so_far, clock on, std::size_t contrasts, double margin,
                      double affordable) {
  if (so_far.epochs() < 2) { return 2; }
  double const quarter = std::log1p(margin) / 4;
  double wanted = 1;
  for (std::size_t k = 0; k < contrasts; ++k) {
    double const within = so_far.block_variance(on, k);
    double const deviation = stats::standard_deviation(so_far.effects(on, k));
    // Epochs differ by their own noise and by the mean noise of their blocks.
    double const between =
        so_far.epochs() < 4 ? 0 : deviation * deviation - within / so_far.mean_blocks();
    double const ratio = within / std::max(quarter * quarter, between);
    if (std::isfinite(ratio)) { wanted = std::max(wanted, ratio); }
  }
  return static_cast<int>(std::ceil(std::min({wanted, std::max(1.0, affordable), 8.0})));
}

}  // namespace assay::measure
