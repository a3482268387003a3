// SPDX-License-Identifier: Apache-2.0
/// @file
/// The honest work of the problem, for the reference and for candidates.
#pragma once

#include <cstddef>

inline int candidate_work(void* const* buffers, std::size_t const* sizes, double const* scalars) {
  auto const* const x = static_cast<float const*>(buffers[0]);
  auto* const y = static_cast<float*>(buffers[1]);
  auto const a = static_cast<float>(scalars[0]);
  double sum = 0;
  for (std::size_t i = 0; i < sizes[0]; ++i) {
    y[i] = a * x[i] + 1;
    sum += x[i];
  }
  *static_cast<double*>(buffers[2]) = sum;
  return 0;
}
