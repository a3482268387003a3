// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a product of matrices is, and how far float arithmetic may stray from it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace assay::reference {

/// One row of C = A x B in float64: expected[j] is the sum of a[p] b[p, j], and magnitude[j] that
/// of their absolute values, over p in [0, k). B is row-major without gaps, k x n.
template <class T>
void matmul_row(std::int64_t n, std::int64_t k, T const* a, T const* b, double* expected,
                double* magnitude) {
  for (std::int64_t j = 0; j < n; ++j) { expected[j] = magnitude[j] = 0; }
  for (std::int64_t p = 0; p < k; ++p) {
    auto const left = static_cast<double>(a[p]);
    for (std::int64_t j = 0; j < n; ++j) {
      auto const product = left * static_cast<double>(b[p * n + j]);
      expected[j] += product;
      magnitude[j] += std::abs(product);
    }
  }
}

/// C = A x B in float64, row-major without gaps: m x k times k x n.
template <class T>
void matmul(std::int64_t m, std::int64_t n, std::int64_t k, T const* a, T const* b,
            double* expected, double* magnitude) {
  for (std::int64_t i = 0; i < m; ++i) {
    matmul_row(n, k, a + i * k, b, expected + i * n, magnitude + i * n);
  }
}

/// By how much a sum of `k` products of `float` may err, as a share of the sum of their absolute
/// values: each product passes at most k roundings of 2^-24, in whatever order the sum is taken.
/// Second-order terms are below 1 % for all k here; the reference adds k roundings of 2^-53.
inline double rounded_sum_share(std::int64_t k) {
  return 1.01 * static_cast<double>(k) * (0x1p-24 + std::numeric_limits<double>::epsilon());
}

/// The same on tensor cores, whose products of `bfloat16` are exact in float32, and which add 16 of
/// them to a sum at a time: all 17 are cut off at 2^-23 of the largest, and so is the sum.
inline double truncated_sum_share(std::int64_t k) {
  auto const products = static_cast<double>(k);
  auto const instructions = std::ceil(products / 16);
  return 1.01 * (instructions * 18 * 0x1p-23 + products * std::numeric_limits<double>::epsilon());
}

/// How far a stored sum may be from `expected`, when it errs by at most `summed` before it is
/// rounded to elements with a relative error of `unit`, the smallest of which is `least`.
inline double stored_allowed(double expected, double summed, double unit, double least) {
  return summed + unit * (std::abs(expected) + summed) + least;
}

}  // namespace assay::reference
