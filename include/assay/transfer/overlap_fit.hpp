// SPDX-License-Identifier: Apache-2.0
/// @file
/// The terms of the overlap model from times that were measured: arithmetic.
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

/// A copy's time is a line over its bytes.
struct copy_line {
  double bytes_per_second = 0;
  double overhead_seconds = 0;  ///< of a copy without bytes
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

/// How long a whole transfer took that was cut into so many equal chunks.
struct timed_cut {
  int chunks = 1;
  double seconds = 0;
  double error_seconds = 0;  ///< standard error of `seconds`; 0: not known
};

/// The median of some times, with its standard error by their median distance from it: what
/// disturbs a few of them does not count. Throws `std::invalid_argument` if there are none.
template <class Seconds = double>
timed_cut median_cut(int chunks, std::vector<Seconds> seconds) {
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

/// Sets `copy_overhead_seconds`, its error, and `start_seconds` so that `chunked_seconds` comes
/// nearest to the times of all cuts, each weighted by its error; all other terms as they are.
///
/// What a chunk costs in a full pipeline is more than what a copy costs that follows another on its
/// engine: the engines wait for each other's events and for the link. In closed form, with T(N) = S
/// / N + (1 - 1/N) B + N a, two cuts into n and m chunks tell a = (T(n) - T(m) + (S - B) (1/m -
/// 1/n)) / (n - m); here the recurrence is fitted instead, since it also knows rates that change
/// with the traffic and what the host takes. Times that scatter more round the fit than their
/// errors say widen the interval: then the model is what errs. The overhead is 0 where finer cuts
/// were so fast that there is none, and the start 0 where the model is slower than all times.
template <class Terms>
void fit_overheads(Terms& of, overlap_size const& size, int slots,
                   std::vector<timed_cut> const& cuts) {
  struct point {
    std::vector<std::int64_t> chunks;
    double seconds, weight, said;
  };
  std::vector<point> points;
  int fewest = std::numeric_limits<int>::max();
  int most = 0;
  double slowest = 0;
  for (auto const& each : cuts) { slowest = std::max(slowest, each.seconds); }
  for (auto const& each : cuts) {
    fewest = std::min(fewest, each.chunks);
    most = std::max(most, each.chunks);
    // Errors below a thousandth are the clock's luck.
    auto const error = std::max(each.error_seconds, 1e-3 * slowest);
    points.push_back({equal_chunks(size.elements, size.granularity, each.chunks), each.seconds,
                      1 / (error * error), 0});
  }
  if (fewest < 1 || fewest >= most) {
    throw std::invalid_argument("cuts into " + std::to_string(fewest) + " to " +
                                std::to_string(most) +
                                " chunks tell no overhead: at least two that differ do, of at "
                                "least 1 chunk each");
  }
  of.start_seconds = 0;
  struct outcome {
    double start, squares;
  };
  auto const fitted = [&](double overhead) {
    of.copy_overhead_seconds = overhead;
    double sum = 0, weights = 0, squares = 0;
    for (auto& each : points) {
      each.said = chunked_seconds(of, size, each.chunks, slots);
      sum += each.weight * (each.seconds - each.said);
      weights += each.weight;
    }
    auto const start = sum / weights;
    for (auto const& each : points) {
      auto const off = each.seconds - each.said - start;
      squares += each.weight * off * off;
    }
    return outcome{start, squares};
  };
  constexpr int parts = 40;
  // Where the two steps round the least of all begin.
  auto const valley = [&](double from, double step) {
    int lowest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i <= parts; ++i) {
      auto const squares = fitted(from + i * step).squares;
      if (squares >= least) { continue; }
      least = squares;
      lowest = i;
    }
    return from + std::max(0, lowest - 1) * step;
  };
  // No chunk costs more than its share of the fastest cut. The recurrence has steps, so there are
  // valleys in the valley: the deepest is looked for twice, and golden section finds its ground.
  double step = std::numeric_limits<double>::infinity();
  for (auto const& each : cuts) { step = std::min(step, each.seconds / each.chunks / parts); }
  double low = valley(0, step);
  step *= 2.0 / parts;
  low = valley(low, step);
  double high = low + 2 * step;
  constexpr double ratio = 0.6180339887498949;
  for (int i = 0; i < 25; ++i) {
    auto const left = high - ratio * (high - low);
    auto const right = low + ratio * (high - low);
    if (fitted(left).squares < fitted(right).squares) {
      high = right;
    } else {
      low = left;
    }
  }
  auto const best = (low + high) / 2;
  // How each time follows the overhead, for the error of the fit: over a tenth of it, since the
  // recurrence has flat stretches, which are shorter.
  std::vector<double> slopes;
  auto const aside = std::max(1e-8, 0.1 * best);
  (void)fitted(best + aside);
  for (auto const& each : points) { slopes.push_back(each.said); }
  auto const [start, squares] = fitted(best);
  double weights = 0, mean = 0, spread = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    slopes[i] = (slopes[i] - points[i].said) / aside;
    weights += points[i].weight;
    mean += points[i].weight * slopes[i];
  }
  mean /= weights;
  for (std::size_t i = 0; i < points.size(); ++i) {
    spread += points[i].weight * (slopes[i] - mean) * (slopes[i] - mean);
  }
  auto const freedom = std::max(1.0, static_cast<double>(points.size()) - 2);
  of.copy_overhead_error_seconds =
      spread > 0 ? 2 * std::sqrt(std::max(1.0, squares / freedom) / spread) : 0;
  of.start_seconds = std::max(0.0, start);
}

/// The first of at most `attempts` measurements that tells the overhead of a chunk within half of
/// it, else the one that tells it best: what a device does beside may make it twenty times as long.
///
/// Half is enough: the number of chunks goes with the root of the overhead, and near its optimum
/// time is flat, so that even a transfer of 16 MiB each way loses 1 % at most.
template <class Measure>
overlap_terms steadiest_terms(int attempts, Measure const& measure) {
  auto const doubt = [](overlap_terms const& of) {
    return of.copy_overhead_seconds > 0
               ? of.copy_overhead_error_seconds / of.copy_overhead_seconds
               : std::numeric_limits<double>::infinity();  // there always is some
  };
  overlap_terms best = measure();
  for (int i = 1; i < attempts && doubt(best) > 0.5; ++i) {
    auto const other = measure();
    if (doubt(other) < doubt(best)) { best = other; }
  }
  return best;
}

/// Times of computations in a pipeline: of one chunk from its beginning to its end, and from that
/// end to the end of the last of some chunks that follow.
struct timed_kernels {
  double one_seconds = 0;
  std::int64_t one_elements = 0;
  double next_seconds = 0;
  std::int64_t next_elements = 0;  ///< of those that follow; 0: no such time
};

/// Seconds an element, net of launches and of what a kernel alone leaves idle as it ends.
///
/// Both times hold more than the kernels' work: the first what surrounds a kernel, and all of its
/// neighbour's work if it runs beside that; the second the waits for data where the link limits.
/// So the smaller one counts.
inline double kernel_seconds_per_element(timed_kernels const& seen, double overhead_seconds) {
  auto const one = std::max(0.0, seen.one_seconds - overhead_seconds) /
                   static_cast<double>(std::max<std::int64_t>(1, seen.one_elements));
  if (seen.next_elements <= 0) { return one; }
  return std::min(one, seen.next_seconds / static_cast<double>(seen.next_elements));
}

}  // namespace assay::transfer
