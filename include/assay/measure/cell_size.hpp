// SPDX-License-Identifier: Apache-2.0
/// @file
/// How many launches a cell washes out and times.
#pragma once

#include <assay/measure/subject.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::measure {

/// What every cell of a comparison runs. One size for all variants: a fixed cost per cell (an event
/// pair, a drain) must not be spread over more launches in one variant than in another.
struct cell_size {
  int wash_out = 2;
  int launches = 5;
  bool operator==(cell_size const&) const = default;
};

/// Sizes cells for variants whose launches take between `fastest` and `slowest` seconds.
///
/// Short launches: enough of the fastest to fill `cell_seconds` (1 ms by default, 2000 ticks of an
/// event's 0.5 us), at least 5, so that the mean sheds one odd launch, and at most `most_launches`.
/// Launches from 0.2 ms fill the cell in themselves. From 0.5 ms one launch is a cell: host noise
/// lasts for 10 launches and more (correlation 0.8 from one batch of 0.5 to 2 ms to the next, on a
/// virtual machine with one H100), so variants that follow each other closely share it. Cells of
/// the slowest are kept within ten times `cell_seconds` where those least numbers allow.
///
/// Wash-out: the first launch after another variant finds its caches, the second is clear of it
/// also where launches overlap, so 2; from 0.2 ms on 1. From 2 ms on none: a launch that is bound
/// by memory moves 6 GB, a hundred times the L2. For others the carry-over guard decides.
inline cell_size size_cells(double fastest, double slowest, double cell_seconds,
                            int most_launches = 200) {
  if (!(cell_seconds > 0) || !std::isfinite(cell_seconds)) {
    throw std::invalid_argument("cell_seconds is positive, not " + std::to_string(cell_seconds));
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

/// Whether the last three rounds of a warm-up agree within 0.5 % in the time of every variant.
inline bool steady(std::vector<std::vector<double>> const& rounds) {
  if (rounds.size() < 3) { return false; }
  auto const last = rounds.end() - 3;
  for (std::size_t i = 0; i < last[0].size(); ++i) {
    auto const [low, high] = std::minmax({last[0][i], last[1][i], last[2][i]});
    if (!(high - low <= 0.005 * high)) { return false; }
  }
  return true;
}

/// The longest of a cell's clocks, which is how long it kept the machine; 0 if it has none.
inline double longest_clock(cell const& measured) noexcept {
  double longest = 0;
  for (double const seconds : measured.seconds) {
    if (std::isfinite(seconds)) { longest = std::max(longest, seconds); }
  }
  return longest;
}

}  // namespace assay::measure
