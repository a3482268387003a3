// SPDX-License-Identifier: Apache-2.0
/// @file
/// `plan_next`: the size whose measurement saves the most wrong choices.
#pragma once

#include <assay/dispatch/curve.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

namespace assay::dispatch {

/// The size to measure next; 0 where no segment has a size in it.
struct next_size {
  std::size_t size = 0;
  /// The expected regret of choices by the present knots, as a share, if all octaves are as likely.
  double expected_regret = 0;
};

namespace detail {

/// The bend of a curve in the segment from knot i is the change of slope per octave. In the middle
/// of the segment, a line through its ends errs by an eighth of the bend times the width squared.
inline double bend(std::vector<knot> const& knots, std::size_t i) {
  auto const width = [&](std::size_t k) { return std::log2(knots[k + 1].size / knots[k].size); };
  auto const slope = [&](std::size_t k) {
    return std::log2(knots[k + 1].seconds / knots[k].seconds) / width(k);
  };
  auto const against = [&](std::size_t k) {
    return std::abs(slope(k) - slope(i)) / (0.5 * (width(k) + width(i)));
  };
  double const left = i > 0 ? against(i - 1) : 0;
  return std::max(left, i + 2 < knots.size() ? against(i + 1) : 0);
}

/// The expected loss of preferring the smaller of two estimates with this difference and the
/// standard deviation of that difference.
inline double expected_loss(double difference, double deviation) {
  double const z = difference / deviation;
  double const density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  return deviation * density - difference * 0.5 * std::erfc(z / std::numbers::sqrt2);
}

}  // namespace detail

/// Plans by the knots of several paths, which have the same sizes.
inline next_size plan_next(std::span<std::vector<knot> const> paths) {
  next_size plan;
  double octaves = 0;
  double most = -1;
  for (std::size_t i = 0; i + 1 < paths[0].size(); ++i) {
    double const width = std::log2(paths[0][i + 1].size / paths[0][i].size);
    struct middle {
      double seconds, deviation;
    };
    std::vector<middle> at;  // log2 of the seconds of each path in the middle of the segment
    for (auto const& knots : paths) {
      auto const& a = knots[i];
      auto const& b = knots[i + 1];
      double const noise = 0.25 * (a.spread + b.spread);  // a spread is two deviations
      at.push_back({0.5 * std::log2(a.seconds * b.seconds),
                    std::hypot(noise, detail::bend(knots, i) * width * width / 8, 1e-6)});
    }
    auto const best = std::min_element(at.begin(), at.end(), [](middle const& a, middle const& b) {
      return a.seconds < b.seconds;
    });
    double loss = 0;
    for (auto const& other : at) {
      if (&other == &*best) { continue; }
      loss = std::max(loss, detail::expected_loss(other.seconds - best->seconds,
                                                  std::hypot(other.deviation, best->deviation)));
    }
    loss *= width * std::numbers::ln2;  // a small change of log2 is this share of the seconds
    octaves += width;
    plan.expected_regret += loss;
    double const size = std::round(std::sqrt(paths[0][i].size * paths[0][i + 1].size));
    if (loss > most && size > paths[0][i].size && size < paths[0][i + 1].size) {
      most = loss;
      plan.size = static_cast<std::size_t>(size);
    }
  }
  plan.expected_regret /= octaves;
  return plan;
}

}  // namespace assay::dispatch
