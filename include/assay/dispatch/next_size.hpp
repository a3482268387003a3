// SPDX-License-Identifier: Apache-2.0
/// @file
/// `plan_next`, `plan_shape`: the size to measure next, since it saves the most wrong choices, or
/// the most error of predictions.
#pragma once

#include <assay/dispatch/curve.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

namespace assay::dispatch {

/// The size to measure next; 0 where no segment has a size in it, or nothing is gained.
struct next_size {
  std::size_t size = 0;
  /// The expected regret of choices by the present knots, as a share, if all octaves are as likely;
  /// 0 from `plan_shape`.
  double expected_regret = 0;
  /// The part of the expected regret, or of the expected error, that more sizes can take away. The
  /// rest is noise.
  double avoidable = 0;
};

namespace detail {

/// The line between two knots: its octaves, and its slope in log2 of seconds per octave.
struct segment {
  double width, slope;
};

inline std::vector<segment> segments_of(std::vector<knot> const& knots) {
  std::vector<segment> found;
  for (std::size_t i = 0; i + 1 < knots.size(); ++i) {
    double const width = std::log2(knots[i + 1].size / knots[i].size);
    found.push_back({width, std::log2(knots[i + 1].seconds / knots[i].seconds) / width});
  }
  return found;
}

/// The bend of a curve in a segment is the change of slope per octave. In the middle of the
/// segment, a line through its ends errs by an eighth of the bend times the width squared.
inline double bend(std::vector<segment> const& segments, std::size_t i) {
  auto const& here = segments[i];
  auto const against = [&](segment const& other) {
    return std::abs(other.slope - here.slope) / (0.5 * (other.width + here.width));
  };
  double const left = i > 0 ? against(segments[i - 1]) : 0;
  return std::max(left, i + 1 < segments.size() ? against(segments[i + 1]) : 0);
}

/// The expected loss of preferring the smaller of two estimates with this difference and the
/// standard deviation of that difference.
inline double expected_loss(double difference, double deviation) {
  double const z = difference / deviation;
  double const density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  return deviation * density - difference * 0.5 * std::erfc(z / std::numbers::sqrt2);
}

/// A curve in the middle of a segment: log2 of the seconds, and the deviations that noise and
/// bends cause.
struct middle {
  double seconds, noise, bent;
  double deviation() const { return std::hypot(noise, bent); }
};

inline middle middle_of(std::vector<knot> const& knots, std::vector<segment> const& segments,
                        std::size_t i) {
  constexpr double least_bend = 0.05;  // a straight part may hide a bend between its knots
  auto const& a = knots[i];
  auto const& b = knots[i + 1];
  double const width = segments[i].width;
  return {0.5 * std::log2(a.seconds * b.seconds),
          std::max(0.25 * (a.spread + b.spread), 1e-6),  // a spread is two deviations
          std::max(bend(segments, i), least_bend) * width * width / 8};
}

/// The cost of a segment, in log2: all of it, and the part that a size in its middle takes away.
struct segment_cost {
  double all = 0, avoidable = 0;
};

/// Plans by the segment in which `cost(middles of all paths)` is most avoidable.
template <class Cost>
next_size plan(std::span<std::vector<knot> const> paths, Cost const& cost) {
  next_size found;
  double octaves = 0, most = 0;
  std::vector<std::vector<segment>> segments;  // once, since logarithms take most of the time
  for (auto const& knots : paths) { segments.push_back(segments_of(knots)); }
  std::vector<middle> at;
  for (std::size_t i = 0; i < segments[0].size(); ++i) {
    double const width = segments[0][i].width;
    at.clear();
    for (std::size_t p = 0; p < paths.size(); ++p) {
      at.push_back(middle_of(paths[p], segments[p], i));
    }
    auto [all, avoidable] = cost(at);
    all *= width * std::numbers::ln2;  // a small change of log2 is this share of the seconds
    avoidable *= width * std::numbers::ln2;
    octaves += width;
    found.expected_regret += all;
    double const size = std::round(std::sqrt(paths[0][i].size * paths[0][i + 1].size));
    if (size <= paths[0][i].size || size >= paths[0][i + 1].size) { continue; }
    found.avoidable += avoidable;
    if (avoidable > most) {
      most = avoidable;
      found.size = static_cast<std::size_t>(size);
    }
  }
  found.expected_regret /= octaves;
  found.avoidable /= octaves;
  return found;
}

}  // namespace detail

/// Plans for choices, by the knots of several paths, which have the same sizes. Paths that are
/// equal but for noise are left alone: more sizes cannot tell them apart.
inline next_size plan_next(std::span<std::vector<knot> const> paths) {
  return detail::plan(paths, [](std::vector<detail::middle> const& at) {
    auto const best = std::min_element(
        at.begin(), at.end(), [](auto const& a, auto const& b) { return a.seconds < b.seconds; });
    detail::segment_cost cost;
    for (auto const& other : at) {
      if (&other == &*best) { continue; }
      double const difference = other.seconds - best->seconds;
      double const loss =
          detail::expected_loss(difference, std::hypot(other.deviation(), best->deviation()));
      double const left = detail::expected_loss(difference, std::hypot(other.noise, best->noise));
      cost.all = std::max(cost.all, loss);
      cost.avoidable = std::max(cost.avoidable, loss - left);
    }
    return cost;
  });
}

/// Plans for predictions: the size at which the bends of a curve cause most error beyond noise.
inline next_size plan_shape(std::span<std::vector<knot> const> paths) {
  return detail::plan(paths, [](std::vector<detail::middle> const& at) {
    detail::segment_cost cost;
    for (auto const& each : at) {
      cost.avoidable = std::max(cost.avoidable, each.deviation() - each.noise);
    }
    return cost;
  });
}

}  // namespace assay::dispatch
