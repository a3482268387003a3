// SPDX-License-Identifier: Apache-2.0
/// @file
/// `rank_clock`: the offset between the clocks of two files of ranks, from the ends of collectives.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace assay::trace {

/// The origin of what is known of a clock.
enum class clock_origin : std::uint8_t {
  reference,    ///< the clock that others are held against
  host,         ///< the same machine, and both files say when they began
  collectives,  ///< estimated: the ranks of a collective leave it together
  unknown       ///< no collective in common with a file of known clock
};

/// Moves times of a file to the clock of the reference: a line through the ends of collectives.
struct rank_clock {
  clock_origin origin = clock_origin::unknown;
  std::int64_t offset_ns = 0;  ///< to be added to a time
  double drift = 0;            ///< and for each nanosecond since `from`
  std::int64_t from = 0;
  std::size_t pairs = 0;   ///< ends of collectives that were compared
  double spread_ns = 0;    ///< 95 % of these ends agree within it
  double typical_ns = 0;   ///< half of them do
  double residual_ns = 0;  ///< the median by which ends still differ
  double refuted_ns = 0;   ///< what collectives and the host's clock differ by; 0: they agree

  std::int64_t operator()(std::int64_t at) const noexcept {
    return at + offset_ns + std::llround(drift * static_cast<double>(at - from));
  }
};

/// Ends of one collective: on the reference's clock, and on the other one.
using end_pair = std::pair<std::int64_t, std::int64_t>;

namespace detail {

inline double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) { return 0; }
  auto const at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + at);
  return values[static_cast<std::size_t>(at)];
}

/// The differences of ends that a clock leaves.
inline std::vector<double> residuals(rank_clock const& by, std::vector<end_pair> const& pairs) {
  std::vector<double> left;
  left.reserve(pairs.size());
  for (auto const& [wanted, at] : pairs) { left.push_back(static_cast<double>(wanted - by(at))); }
  return left;
}

/// Fills in how well a clock fits.
inline void judge(rank_clock& of, std::vector<end_pair> const& pairs) {
  auto left = residuals(of, pairs);
  of.pairs = pairs.size();
  of.residual_ns = quantile_of(left, 0.5);
  for (auto& each : left) { each = std::abs(each); }
  of.typical_ns = quantile_of(left, 0.5);
  of.spread_ns = quantile_of(std::move(left), 0.95);
}

}  // namespace detail

/// The clock that makes ends agree: a median, and with `may_drift` a drift where that halves what
/// is left. A minority of wrong pairs does not move the median.
inline rank_clock fitted_clock(std::vector<end_pair> const& pairs, bool may_drift) {
  rank_clock made{.origin = clock_origin::collectives};
  if (pairs.empty()) { return made; }
  auto const median = [](auto first, auto last, auto const& value) {
    std::vector<std::int64_t> all;
    for (auto at = first; at != last; ++at) { all.push_back(value(*at)); }
    auto const middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  };
  auto const difference = [](end_pair const& each) { return each.first - each.second; };
  auto const time = [](end_pair const& each) { return each.second; };
  made.offset_ns = median(pairs.begin(), pairs.end(), difference);
  made.from = median(pairs.begin(), pairs.end(), time);
  detail::judge(made, pairs);
  constexpr std::size_t fewest = 30;
  if (!may_drift || pairs.size() < fewest) { return made; }
  // A line through the medians of the first and the last third bends to no outlier.
  auto const third = static_cast<std::ptrdiff_t>(pairs.size() / 3);
  auto const run = static_cast<double>(median(pairs.end() - third, pairs.end(), time) -
                                       median(pairs.begin(), pairs.begin() + third, time));
  auto const rise = static_cast<double>(median(pairs.end() - third, pairs.end(), difference) -
                                        median(pairs.begin(), pairs.begin() + third, difference));
  constexpr double most = 1e-3;  // no clock runs so wrong
  if (run <= 0 || std::abs(rise) > most * run) { return made; }
  auto line = made;
  line.drift = rise / run;
  line.offset_ns += std::llround(detail::quantile_of(detail::residuals(line, pairs), 0.5));
  detail::judge(line, pairs);
  return line.spread_ns < made.spread_ns / 2 ? line : made;
}

}  // namespace assay::trace
