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

/// The columns of the problem in rows, whose leading dimensions are scalars 1 and 2.
inline constexpr std::size_t row_columns = 7;

/// The same in rows, of which `columns` are read and written.
inline int rows_work(void* const* buffers, std::size_t const* sizes, double const* scalars,
                     std::size_t columns, std::size_t ldy) {
  auto const* const x = static_cast<float const*>(buffers[0]);
  auto* const y = static_cast<float*>(buffers[1]);
  auto const a = static_cast<float>(scalars[0]);
  auto const ldx = static_cast<std::size_t>(scalars[1]);
  double sum = 0;
  for (std::size_t row = 0; row < sizes[0] / ldx; ++row) {
    for (std::size_t i = 0; i < columns; ++i) {
      auto const value = x[row * ldx + (i < row_columns ? i : 0)];
      y[row * ldy + i] = a * value + 1;
      sum += i < row_columns ? value : 0;
    }
  }
  *static_cast<double*>(buffers[2]) = sum;
  return 0;
}
