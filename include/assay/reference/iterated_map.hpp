// SPDX-License-Identifier: Apache-2.0
/// @file
/// What x -> a x + b is, applied again and again, and how far float arithmetic may stray from it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace assay::reference {

/// One step x -> factor * x + offset.
template <class T>
struct affine_step {
  T factor = 0;
  T offset = 0;
  bool operator==(affine_step const&) const = default;
};

/// The step that, applied `steps` times, halves the distance of any two values: values stay
/// bounded, as it is a contraction, and yet each result still tells its input from all others. The
/// factor is negative, so that values swing round their limit of about offset / 2 instead of
/// creeping to one far away.
template <class T>
affine_step<T> step_for(int steps) {
  if (steps == 0) { return {T{1}, T{0}}; }
  return {static_cast<T>(-std::exp2(-1.0 / steps)), T{1}};
}

/// expected[i] = x[i] after `steps` steps in float64, and by how much a result in `T` may differ.
///
/// With |factor| <= 1 an error made in one step does not grow in later ones. Each step makes at
/// most 2 u |v| in `T`, whether it rounds once (fused) or twice, and as much in float64 here. All
/// intermediate values v lie no farther from the limit p than x does, so |v| <= |x| + 2 |p|.
/// Underflow adds less than the smallest normal number.
template <class T>
void iterated_map(std::int64_t count, T const* x, affine_step<T> step, int steps, double* expected,
                  double* allowed) {
  constexpr double unit = std::numeric_limits<T>::epsilon() / 2.0;
  constexpr double own_unit = std::numeric_limits<double>::epsilon() / 2;
  auto const factor = static_cast<double>(step.factor);
  auto const offset = static_cast<double>(step.offset);
  auto const limit = steps == 0 ? 0.0 : std::abs(offset / (1 - factor));
  for (std::int64_t i = 0; i < count; ++i) {
    expected[i] = static_cast<double>(x[i]);
    auto const largest = 1.01 * (std::abs(expected[i]) + 2 * limit);  // 1 %: second-order terms
    allowed[i] = steps * (2 * (unit + own_unit) * largest +
                          static_cast<double>(std::numeric_limits<T>::min()));
  }
  for (int k = 0; k < steps; ++k) {
    for (std::int64_t i = 0; i < count; ++i) { expected[i] = factor * expected[i] + offset; }
  }
}

}  // namespace assay::reference
