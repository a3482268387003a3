// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cutting a job into chunks, equal ones or such as grow and shrink: arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::transfer {

/// `elements` cut into at most `chunks` parts with these weights, at multiples of `granularity`;
/// parts without elements are left out.
template <class Weight>
std::vector<std::int64_t> cut(std::int64_t elements, std::int64_t granularity,
                              std::vector<Weight> const& weights) {
  double all = 0;
  for (double const each : weights) { all += each; }
  auto const units = (elements + granularity - 1) / granularity;
  std::vector<std::int64_t> chunks;
  double sum = 0;
  std::int64_t from = 0;
  for (double const each : weights) {
    sum += each;
    auto const unit = std::llround(static_cast<double>(units) * std::min(1.0, sum / all));
    auto const to = std::min(elements, static_cast<std::int64_t>(unit) * granularity);
    if (to > from) { chunks.push_back(to - from); }
    from = std::max(from, to);
  }
  if (from < elements) { chunks.push_back(elements - from); }
  return chunks;
}

template <class Count>
std::vector<std::int64_t> equal_chunks(std::int64_t elements, std::int64_t granularity,
                                       Count chunks) {
  std::vector<double> const weights(static_cast<std::size_t>(std::max(Count{1}, chunks)), 1.0);
  return cut(elements, granularity, weights);
}

/// Chunks that grow and shrink: the first `up` are each `growth` times smaller than the next, the
/// last `down` each `shrink` times smaller than the one before, those between are equal.
struct ramp {
  int up = 0;
  double growth = 1;
  int down = 0;
  double shrink = 1;
  bool operator==(ramp const&) const = default;
};

template <class Count>
std::vector<std::int64_t> ramped_chunks(std::int64_t elements, std::int64_t granularity,
                                        Count chunks, ramp const& form) {
  std::vector<double> weights;
  for (Count i = 0; i < chunks; ++i) {
    weights.push_back(
        std::min(std::pow(form.growth, std::min(0, static_cast<int>(i) - form.up)),
                 std::pow(form.shrink, std::min(0, static_cast<int>(chunks - 1 - i) - form.down))));
  }
  return cut(elements, granularity, weights);
}

}  // namespace assay::transfer
