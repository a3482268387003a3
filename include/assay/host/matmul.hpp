// SPDX-License-Identifier: Apache-2.0
/// @file
/// A product of matrices on the CPU.
#pragma once

#include <assay/host/parallel_for.hpp>

#include <algorithm>
#include <cstdint>

namespace assay::host {

/// C = A x B, row-major without gaps: m x k times k x n. Elements convert to `float` and back; sums
/// are taken in `float`. C must not overlap A or B.
template <class T>
void matmul(int threads, std::int64_t m, std::int64_t n, std::int64_t k, T const* a, T const* b,
            T* c) {
  // So many sums that they stay in the L1 cache, with enough rows that a row of B is used often.
  constexpr std::int64_t rows = 4;
  constexpr std::int64_t cols = 512;
  parallel_for(threads, m, rows, [=](std::int64_t begin, std::int64_t end) {
    float sums[rows][cols];
    float right[cols];
    for (auto row = begin; row < end; row += rows) {
      auto const height = std::min(rows, end - row);
      for (std::int64_t col = 0; col < n; col += cols) {
        auto const width = std::min(cols, n - col);
        for (auto& each : sums) { std::fill_n(each, cols, 0.0F); }
        for (std::int64_t p = 0; p < k; ++p) {
          for (std::int64_t j = 0; j < width; ++j) {
            right[j] = static_cast<float>(b[p * n + col + j]);
          }
          for (std::int64_t i = 0; i < height; ++i) {
            auto const left = static_cast<float>(a[(row + i) * k + p]);
            for (std::int64_t j = 0; j < width; ++j) { sums[i][j] += left * right[j]; }
          }
        }
        for (std::int64_t i = 0; i < height; ++i) {
          for (std::int64_t j = 0; j < width; ++j) {
            c[(row + i) * n + col + j] = static_cast<T>(sums[i][j]);
          }
        }
      }
    }
  });
}

}  // namespace assay::host
