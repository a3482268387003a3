// SPDX-License-Identifier: Apache-2.0
/// @file
/// RMSNorm of a residual stream plus the output of a branch, and the gradient.
#pragma once

#include <assay/nn/operation.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace assay::nn {

/// The constant below the root, as PyTorch users write it.
inline constexpr double rms_epsilon = 1e-5;

/// sum = residual + branch; inverse = 1 / sqrt(mean(sum^2) + epsilon); out = sum * inverse * gain.
/// Means are over the elements of a row. An empty branch is zero: `sum` may then be `residual`.
struct rms_norm {
  static constexpr std::string_view name = "rms_norm";
  std::size_t rows = 1;
  std::size_t width = 1;
  bool has_branch = true;

  traffic cost(double narrow = 1) const {
    auto const n = detail::product_of(rows, width);
    auto const gain = static_cast<double>(width);
    auto const inverse = static_cast<double>(rows), both = n + narrow * n;
    return has_branch ? detail::elements(both + gain, both + inverse, 5 * n)
                      : detail::elements(n + gain, narrow * n + inverse, 4 * n);
  }

  /// residual, branch, sum, out: rows x width; gain: width; inverse: rows.
  template <class Real>
  void operator()(in<Real> residual, in<Real> branch, in<Real> gain, std::span<Real> sum,
                  std::span<Real> inverse, std::span<Real> out) const {
    detail::require_size(name, "residual", residual, rows * width);
    detail::require_size(name, "branch", branch, has_branch ? rows * width : 0);
    detail::require_size(name, "gain", gain, width);
    detail::require_size(name, "sum", sum, rows * width);
    detail::require_size(name, "inverse", inverse, rows);
    detail::require_size(name, "out", out, rows * width);
    for (std::size_t r = 0; r < rows; ++r) {
      auto const first = r * width;
      Real squares{0};
      for (std::size_t i = first; i < first + width; ++i) {
        sum[i] = has_branch ? residual[i] + branch[i] : residual[i];
        squares += sum[i] * sum[i];
      }
      inverse[r] =
          Real{1} / std::sqrt(squares / static_cast<Real>(width) + static_cast<Real>(rms_epsilon));
      for (std::size_t c = 0; c < width; ++c) {
        out[first + c] = sum[first + c] * inverse[r] * gain[c];
      }
    }
  }
};

/// Rows that share a part of the gradient of a gain.
inline constexpr std::size_t rows_of_gain_part = 8;

/// The gradients of gains from their parts. Gains are pairs that lie `stride` elements apart, with
/// `second` elements from the first of a pair to the other; the last one may be alone.
struct gain_sums {
  static constexpr std::string_view name = "gain_sums";
  std::size_t parts = 1;  ///< of each gain
  std::size_t width = 1;
  std::size_t gains = 1;
  std::size_t second = 0;
  std::size_t stride = 0;

  traffic cost(double /*narrow*/ = 1) const {
    auto const all = detail::product_of(gains, width);
    auto const read = static_cast<double>(parts) * all;
    return detail::elements(read, all, read);
  }
  /// The elements before a gain, counted from the first.
  std::size_t place(std::size_t gain) const { return gain / 2 * stride + gain % 2 * second; }

  /// all_parts: gains x parts x width; `gradients` begins with the first gain and ends with the
  /// last. What lies between the gains stays as it is.
  template <class Real>
  void operator()(in<Real> all_parts, std::span<Real> gradients) const {
    detail::require_size(name, "all_parts", all_parts, gains * parts * width);
    detail::require_size(name, "gradients", gradients, place(gains - 1) + width);
    for (std::size_t g = 0; g < gains; ++g) {
      for (std::size_t c = 0; c < width; ++c) {
        Real sum{0};
        for (std::size_t p = 0; p < parts; ++p) { sum += all_parts[(g * parts + p) * width + c]; }
        gradients[place(g) + c] = sum;
      }
    }
  }
};

/// The gradients of `sum` and of `gain`. `residual` and `branch` have the gradient of `sum`.
/// `accumulate` adds to the gradient that later layers give `sum`. A copy of that, in the type of
/// activations, is for the products that read it.
struct rms_norm_gradient {
  static constexpr std::string_view name = "rms_norm_gradient";
  std::size_t rows = 1;
  std::size_t width = 1;
  bool accumulate = true;
  bool gain_in_parts = false;  ///< for `gain_sums`, which adds those of many gains

  /// The gradient of the gain has so many rows.
  std::size_t gain_parts() const {
    return gain_in_parts ? (rows + rows_of_gain_part - 1) / rows_of_gain_part : 1;
  }

  traffic cost(double narrow = 1) const {
    auto const n = detail::product_of(rows, width);
    auto const gain = static_cast<double>(width);
    auto const copied = narrow < 1 ? narrow * n : 0;
    auto const parts = detail::product_of(gain_parts(), width);
    return detail::elements(
        (accumulate ? 2 : 1) * n + narrow * n + gain + static_cast<double>(rows),
        n + parts + copied, (accumulate ? 11 : 10) * n);
  }

  /// `copy` is empty where activations have the type of `sum_gradient`.
  template <class Real>
  void operator()(in<Real> out_gradient, in<Real> sum, in<Real> gain, in<Real> inverse,
                  std::span<Real> sum_gradient, std::span<Real> gain_gradient,
                  std::span<Real> copy = {}) const {
    for (auto const each : {out_gradient, sum, in<Real>{sum_gradient}}) {
      detail::require_size(name, "out_gradient, sum or sum_gradient", each, rows * width);
    }
    detail::require_size(name, "gain", gain, width);
    detail::require_size(name, "inverse", inverse, rows);
    detail::require_size(name, "gain_gradient", gain_gradient, gain_parts() * width);
    detail::require_size(name, "copy", copy, 0);
    if (!gain_in_parts) {
      auto in_parts = *this;
      in_parts.gain_in_parts = true;
      std::vector<Real> parts(in_parts.gain_parts() * width);
      in_parts(out_gradient, sum, gain, inverse, sum_gradient, std::span{parts});
      return gain_sums{in_parts.gain_parts(), width}(parts, gain_gradient);
    }
    for (auto& each : gain_gradient) { each = 0; }
    for (std::size_t r = 0; r < rows; ++r) {
      auto const first = r * width;
      auto const part = gain_gradient.subspan(r / rows_of_gain_part * width, width);
      Real dot{0};
      for (std::size_t c = 0; c < width; ++c) {
        auto const i = first + c;
        dot += out_gradient[i] * gain[c] * sum[i];
        part[c] += out_gradient[i] * sum[i] * inverse[r];
      }
      auto const along = dot * inverse[r] * inverse[r] / static_cast<Real>(width);
      for (std::size_t c = 0; c < width; ++c) {
        auto const i = first + c;
        auto const gradient = inverse[r] * (out_gradient[i] * gain[c] - sum[i] * along);
        sum_gradient[i] = accumulate ? sum_gradient[i] + gradient : gradient;
      }
    }
  }
};

}  // namespace assay::nn
