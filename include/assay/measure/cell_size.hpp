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
/// pair, a drain) must not be spread over more launches in one arm than in another.
struct cell_size {
  int wash_out = 2;
  int launches = 5;
  bool operator==(cell_size const&) const = default;
};

/// Sizes cells for variants whose launches take between `fastest` and `slowest` seconds.
///
/// Timed: enough launches of the fastest to fill `cell_seconds` (1 ms by default, 2000 ticks of an
/// event's 0.5 us), at most 200, as more average out no noise that the super-blocks do not; at
/// least 5 for the mean to shed one odd launch. Launches of 0.5 ms are long enough in themselves,
/// so 3 do, of 0.8 ms two (which fill the default cell), and of 10 ms one does. Cells of the
/// slowest are kept within ten times `cell_seconds` where those least numbers allow.
///
/// Wash-out: the first launch after another variant finds its caches, the second is clear of it
/// also where launches overlap; one launch of 0.5 ms moves some 2 GB, forty times the L2, and
/// leaves nothing to find. With one wash-out and 2 timed launches a 1 ms batch costs 3 ms a cell,
/// 1 s over 8 epochs of 40 cells.
inline cell_size size_cells(double fastest, double slowest, double cell_seconds) {
  if (!(cell_seconds > 0) || !std::isfinite(cell_seconds)) {
    throw std::invalid_argument("cell_seconds is positive, not " + std::to_string(cell_seconds));
  }
  auto const least = [](double launch) {
    return launch >= 10e-3 ? 1 : launch >= 0.8e-3 ? 2 : launch >= 0.5e-3 ? 3 : 5;
  };
  auto const to_fill = [](double seconds, double launch) {
    return static_cast<int>(std::min(200.0, std::ceil(seconds / std::max(launch, 1e-12))));
  };
  int const wanted = std::max(to_fill(cell_seconds, fastest), least(fastest));
  int const affordable = std::max(to_fill(10 * cell_seconds, slowest), least(slowest));
  return {fastest >= 0.5e-3 ? 1 : 2, std::min(wanted, affordable)};
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
