// SPDX-License-Identifier: Apache-2.0
/// @file
/// Gradients against central differences in float64.
#pragma once
#include "catch.hpp"

#include <assay/core/random.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace assay::test {

/// Uniform numbers of [-1, 1).
inline std::vector<double> random_numbers(std::size_t count, std::uint64_t seed) {
  std::vector<double> made(count);
  for (std::size_t i = 0; i < count; ++i) { made[i] = random_value(uniform<double>{}, seed, i); }
  return made;
}

/// An output that shows each element that an operation forgets.
inline std::vector<double> poisoned_numbers(std::size_t count) {
  return std::vector<double>(count, std::numeric_limits<double>::quiet_NaN());
}

inline double dot(std::span<double const> a, std::span<double const> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) { sum += a[i] * b[i]; }
  return sum;
}

/// The relative error of the derivative of `value()` along a random direction of `variable`, of
/// length one, by central differences. Each element of the direction has the sign of the gradient:
/// the parts of the derivative then do not cancel, and no error can hide behind a small sum.
template <class Value>
double derivative_error(Value const& value, std::span<double> variable,
                        std::span<double const> gradient, std::uint64_t seed, double step = 1e-5) {
  auto direction = random_numbers(variable.size(), seed);
  for (std::size_t i = 0; i < direction.size(); ++i) {
    direction[i] = std::copysign(direction[i], gradient[i] < 0 ? -1 : 1);
  }
  auto const length = std::sqrt(dot(direction, direction));
  for (auto& each : direction) { each /= length; }
  std::vector<double> const before{variable.begin(), variable.end()};
  auto const moved = [&](double by) {
    for (std::size_t i = 0; i < variable.size(); ++i) {
      variable[i] = before[i] + by * direction[i];
    }
    return value();
  };
  auto const found = (moved(step) - moved(-step)) / (2 * step);
  moved(0);
  auto const wanted = dot(gradient, direction);
  return found == wanted ? 0 : std::abs(found - wanted) / std::abs(wanted);
}

}  // namespace assay::test
