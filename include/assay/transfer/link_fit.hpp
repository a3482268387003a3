// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to transfer. The costs of a link from measured times: arithmetic.
#pragma once

#include <assay/transfer/overlap_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::transfer {

/// The time of a copy as a line over its bytes.
struct copy_line {
  double bytes_per_second = 0;
  double overhead_seconds = 0;  ///< the time of a copy without bytes
};

/// The line through two copies alone; throws `std::invalid_argument` unless the longer one took
/// longer.
inline copy_line line_through(double bytes, double seconds, double more_bytes,
                              double more_seconds) {
  if (!(more_bytes > bytes) || !(more_seconds > seconds)) {
    throw std::invalid_argument("copies of " + std::to_string(bytes) + " and " +
                                std::to_string(more_bytes) + " bytes that took " +
                                std::to_string(seconds) + " and " + std::to_string(more_seconds) +
                                " s are no measurement of a link");
  }
  auto const rate = (more_bytes - bytes) / (more_seconds - seconds);
  return {rate, std::max(0.0, seconds - bytes / rate)};
}

/// The time of a transfer in so many equal chunks.
struct timed_cut {
  int chunks = 1;
  double seconds = 0;
  double error_seconds = 0;  ///< standard error of `seconds`; 0: not known
};

/// The median of some times, and its standard error by their median distance from it: a few
/// disturbed times do not count. Throws `std::invalid_argument` if there are none.
inline timed_cut median_cut(int chunks, std::vector<double> seconds) {
  if (seconds.empty()) { throw std::invalid_argument("a cut that was not timed"); }
  auto const middle = [&] {
    auto const at = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), at, seconds.end());
    return *at;
  };
  auto const median = middle();
  for (auto& each : seconds) { each = std::abs(each - median); }
  // Of normal times: 1.48 median distances are a deviation, and a median's error 1.25 of a mean's.
  return {chunks, median, 1.48 * 1.25 * middle() / std::sqrt(static_cast<double>(seconds.size()))};
}

/// Sets `copy_overhead_seconds`, its error, and `start_seconds` by a weighted line through the
/// times of all cuts, less the times that the model predicts without overheads.
///
/// A chunk costs more in a full pipeline than a copy that follows another on its engine: engines
/// wait for each other's events and for the link. A direction that moves bytes while the other one
/// sets up its copy saves a part of this cost. The line sees both effects; its slope is what the
/// closed form needs, and not the time of a set-up alone.
inline void fit_overheads(link_costs& of, job_size const& size, int slots,
                          std::vector<timed_cut> const& cuts) {
  of.copy_overhead_seconds = of.start_seconds = 0;
  double slowest = 0;
  for (auto const& each : cuts) { slowest = std::max(slowest, each.seconds); }
  struct point {
    double x, y, weight;
  };
  std::vector<point> points;
  point mean{0, 0, 0};
  for (auto const& each : cuts) {
    // Errors below a thousandth are luck. One copy of the other direction is on every path.
    auto const error = std::max(each.error_seconds, 1e-3 * slowest);
    auto const rest = each.seconds - predicted_seconds(of, size, each.chunks, slots);
    points.push_back({each.chunks + 1.0, rest, 1 / (error * error)});
    mean.weight += points.back().weight;
    mean.x += points.back().weight * points.back().x;
    mean.y += points.back().weight * points.back().y;
  }
  mean.x /= mean.weight;
  mean.y /= mean.weight;
  double spread = 0, product = 0, squares = 0;
  for (auto const& each : points) {
    spread += each.weight * (each.x - mean.x) * (each.x - mean.x);
    product += each.weight * (each.x - mean.x) * (each.y - mean.y);
  }
  if (!(spread > 0)) {
    throw std::invalid_argument("the times of " + std::to_string(cuts.size()) +
                                " cuts tell no overhead: give two numbers of chunks or more");
  }
  auto const slope = product / spread;
  for (auto const& each : points) {
    auto const off = each.y - mean.y - slope * (each.x - mean.x);
    squares += each.weight * off * off;
  }
  // Times that scatter more than their errors say widen the interval: then the model errs.
  auto const freedom = std::max(1.0, static_cast<double>(points.size()) - 2);
  of.copy_overhead_error_seconds = 2 * std::sqrt(std::max(1.0, squares / freedom) / spread);
  of.copy_overhead_seconds = std::max(0.0, slope);
  of.start_seconds = std::max(0.0, mean.y - of.copy_overhead_seconds * mean.x);
}

/// Measures until the overhead of a copy is known within half of it, `attempts` times at most, and
/// returns the best measurement. Other work of the device can make the overhead twenty times as
/// long.
///
/// Half is enough: the number of chunks goes with the root of the overhead, and time is flat near
/// its optimum. A transfer of 16 MiB each way loses 1 % at most.
template <class Measure>
link_costs steadiest_costs(int attempts, Measure const& measure) {
  auto const doubt = [](link_costs const& of) {
    return of.copy_overhead_seconds > 0
               ? of.copy_overhead_error_seconds / of.copy_overhead_seconds
               : std::numeric_limits<double>::infinity();  // no link is without overhead
  };
  link_costs best = measure();
  for (int i = 1; i < attempts && doubt(best) > 0.5; ++i) {
    auto const other = measure();
    if (doubt(other) < doubt(best)) { best = other; }
  }
  return best;
}

}  // namespace assay::transfer
