// SPDX-License-Identifier: Apache-2.0
/// @file
/// Products with SwiGLU: what makes both of its inputs, and what makes the gradient of its result.
#pragma once

#include <assay/nn/operation.hpp>
#include <assay/nn/product.hpp>
#include <assay/nn/swiglu.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace assay::nn {

/// ab = x W^T, with a and b side by side in a row, and out = swiglu(a, b). W has the rows of a's
/// weights, and then those of b's. x has `in` elements in a row, out has `width`.
struct swiglu_product {
  static constexpr std::string_view name = "swiglu_product";
  std::size_t rows = 1;
  std::size_t in = 1;
  std::size_t width = 1;

  product both() const { return linear{rows, in, 2 * width}.forward(); }
  swiglu gate() const { return {rows, width, 2 * width}; }

  /// The cost of both, less the bytes of a and b, which SwiGLU does not read again.
  traffic cost(double narrow = 1) const {
    auto sum = both().cost(narrow) + gate().cost(narrow);
    sum.bytes_read -= 2 * narrow * detail::float_bytes * detail::product_of(rows, width);
    return sum;
  }

  template <class Real>
  void operator()(nn::in<Real> x, nn::in<Real> weights, std::span<Real> ab,
                  std::span<Real> out) const {
    both()(x, weights, ab);
    gate()(ab.first(gate().extent()), ab.subspan(width), out);
  }
};

/// dout = dy W, and from it the gradients of a and b, side by side as a and b are. W is of the
/// linear layer behind SwiGLU: dy has `out` elements in a row, W has `out` rows of `width`.
struct swiglu_product_gradient {
  static constexpr std::string_view name = "swiglu_product_gradient";
  std::size_t rows = 1;
  std::size_t width = 1;
  std::size_t out = 1;

  product of_gated() const { return linear{rows, width, out}.input_gradient(); }
  swiglu_gradient gate() const { return {rows, width, 2 * width}; }

  /// The cost of both, less the bytes of dout, which is not kept.
  traffic cost(double narrow = 1) const {
    auto sum = of_gated().cost(narrow) + gate().cost(narrow);
    auto const bytes = narrow * detail::float_bytes * detail::product_of(rows, width);
    sum.bytes_read -= bytes;
    sum.bytes_written -= bytes;
    return sum;
  }

  /// `scratch` has rows x width elements, and no meaning behind the call.
  template <class Real>
  void operator()(nn::in<Real> dy, nn::in<Real> weights, nn::in<Real> ab, std::span<Real> scratch,
                  std::span<Real> ab_gradient) const {
    of_gated()(dy, weights, scratch);
    auto const n = gate().extent();
    gate()(ab.first(n), ab.subspan(width), scratch, ab_gradient.first(n),
           ab_gradient.subspan(width));
  }
};

}  // namespace assay::nn
