// SPDX-License-Identifier: Apache-2.0
/// @file
/// SwiGLU (Shazeer 2020), element by element, and its gradient.
#pragma once

#include <assay/nn/operation.hpp>

#include <cmath>

namespace assay::nn {

/// out = a sigmoid(a) b.
struct swiglu {
  static constexpr std::string_view name = "swiglu";
  std::size_t count = 1;

  traffic cost() const {
    auto const n = static_cast<double>(count);
    return detail::elements(2 * n, n, 5 * n);
  }

  template <class Real>
  void operator()(in<Real> a, in<Real> b, std::span<Real> out) const {
    detail::require_size(name, "a", a, count);
    detail::require_size(name, "b", b, count);
    detail::require_size(name, "out", out, count);
    for (std::size_t i = 0; i < count; ++i) { out[i] = a[i] / (1 + std::exp(-a[i])) * b[i]; }
  }
};

/// The gradients of a and b, where s is sigmoid(a): da = dout b s (1 + a (1 - s)), db = dout a s.
struct swiglu_gradient {
  static constexpr std::string_view name = "swiglu_gradient";
  std::size_t count = 1;

  traffic cost() const {
    auto const n = static_cast<double>(count);
    return detail::elements(3 * n, 2 * n, 12 * n);
  }

  template <class Real>
  void operator()(in<Real> a, in<Real> b, in<Real> out_gradient, std::span<Real> a_gradient,
                  std::span<Real> b_gradient) const {
    for (auto const each : {a, b, out_gradient, in<Real>{a_gradient}, in<Real>{b_gradient}}) {
      detail::require_size(name, "an argument", each, count);
    }
    for (std::size_t i = 0; i < count; ++i) {
      auto const s = 1 / (1 + std::exp(-a[i]));
      a_gradient[i] = out_gradient[i] * b[i] * s * (1 + a[i] * (1 - s));
      b_gradient[i] = out_gradient[i] * a[i] * s;
    }
  }
};

}  // namespace assay::nn
