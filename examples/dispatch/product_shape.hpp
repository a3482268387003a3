// SPDX-License-Identifier: Apache-2.0
/// @file
/// `product_shape`: the shape of a product of matrices, and the one size that stands for it.
#pragma once

#include <assay/copy/matrix_view.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace assay::examples {

/// The shape of a product: C[m, n] = A[m, k] x B[k, n], row-major with rows at `pitch(columns)`.
struct product_shape {
  std::size_t m = 0, n = 0, k = 0;

  static std::size_t pitch(std::size_t columns) {
    return static_cast<std::size_t>(copy::chunked_pitch<float>(static_cast<std::int64_t>(columns)));
  }
  copy::matrix_view<float> view_of_a(float const* first) const { return view(first, m, k); }
  copy::matrix_view<float> view_of_b(float const* first) const { return view(first, k, n); }
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n * k); }
  /// The bytes of A, of B and of C.
  std::array<double, 3> bytes() const {
    auto const of = [](std::size_t rows, std::size_t columns) {
      return sizeof(float) * static_cast<double>(rows) * static_cast<double>(pitch(columns));
    };
    return {of(m, k), of(k, n), of(m, n)};
  }
  /// The edge of the square product that takes as long where a byte costs as much as 5 flops.
  /// Caches and memories of hosts and of devices cost 2 to 18. So one curve serves all shapes, and
  /// a thin product counts as a larger one than its flops alone say.
  double edge() const {
    double const cost =
        work(static_cast<double>(m), static_cast<double>(n), static_cast<double>(k));
    double low = 0, high = std::cbrt(cost) + 1;
    for (int i = 0; i < 60; ++i) {
      double const middle = 0.5 * (low + high);
      (work(middle, middle, middle) < cost ? low : high) = middle;
    }
    return low;
  }
  /// A shape of about this edge, with m and n up to 4 times smaller or larger. Draws again where
  /// the m x n elements alone cost more than the square product: there is no k for these.
  static product_shape drawn(std::size_t edge, stats::random_source& random) {
    auto const e = static_cast<double>(edge);
    auto const near = [&] {
      double const share = static_cast<double>(random.next() >> 11U) * 0x1p-53;
      return std::max(1.0, std::round(e * std::exp2(4 * share - 2)));
    };
    for (;;) {
      double const m = near(), n = near();
      double const fixed = work(m, n, 0);  // the rest grows with k
      double const k = (work(e, e, e) - fixed) / (work(m, n, 1) - fixed);
      if (k < 1) { continue; }
      auto const whole = [](double of) { return static_cast<std::size_t>(std::round(of)); };
      return {whole(m), whole(n), whole(k)};
    }
  }

 private:
  static copy::matrix_view<float> view(float const* first, std::size_t rows, std::size_t columns) {
    return {first, static_cast<int>(rows), static_cast<int>(columns),
            static_cast<std::int64_t>(pitch(columns))};
  }
  static double work(double m, double n, double k) {
    constexpr double flops_per_byte = 5;
    return 2 * m * n * k + flops_per_byte * 4 * (m * k + k * n + m * n);
  }
};

}  // namespace assay::examples
