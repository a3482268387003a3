// SPDX-License-Identifier: Apache-2.0
/// @file
/// SwiGLU (Shazeer 2020), element by element, and its gradient.
#pragma once

#include <assay/nn/operation.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

namespace assay::nn {

/// out = a sigmoid(a) b.
struct swiglu {
  static constexpr std::string_view name = "swiglu";
  std::size_t rows = 1;
  std::size_t width = 1;
  std::size_t stride = width;  ///< elements from a row of a or b to the next

  /// Elements from the first to the last one of a or b.
  std::size_t extent() const { return (rows - 1) * stride + width; }
  traffic cost(double narrow = 1) const {
    auto const n = detail::product_of(rows, width);
    return detail::elements(2 * narrow * n, narrow * n, 5 * n);
  }

  template <class Real>
  void operator()(in<Real> a, in<Real> b, std::span<Real> out) const {
    detail::require_size(name, "a", a, extent());
    detail::require_size(name, "b", b, extent());
    detail::require_size(name, "out", out, rows * width);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < width; ++c) {
        auto const i = r * stride + c;
        out[r * width + c] = a[i] / (1 + std::exp(-a[i])) * b[i];
      }
    }
  }
};

/// The gradients of a and b, where s is sigmoid(a): da = dout b s (1 + a (1 - s)), db = dout a s.
struct swiglu_gradient {
  static constexpr std::string_view name = "swiglu_gradient";
  std::size_t rows = 1;
  std::size_t width = 1;
  std::size_t stride = width;  ///< elements from a row of a, b and their gradients to the next

  std::size_t extent() const { return (rows - 1) * stride + width; }
  traffic cost(double narrow = 1) const {
    auto const n = detail::product_of(rows, width);
    return detail::elements(3 * narrow * n, 2 * narrow * n, 12 * n);
  }

  template <class Real>
  void operator()(in<Real> a, in<Real> b, in<Real> out_gradient, std::span<Real> a_gradient,
                  std::span<Real> b_gradient) const {
    for (auto const each : {a, b, in<Real>{a_gradient}, in<Real>{b_gradient}}) {
      detail::require_size(name, "a, b or a gradient of them", each, extent());
    }
    detail::require_size(name, "out_gradient", out_gradient, rows * width);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < width; ++c) {
        auto const i = r * stride + c;
        auto const s = 1 / (1 + std::exp(-a[i])), d = out_gradient[r * width + c];
        a_gradient[i] = d * b[i] * s * (1 + a[i] * (1 - s));
        b_gradient[i] = d * a[i] * s;
      }
    }
  }
};

}  // namespace assay::nn
