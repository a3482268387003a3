// SPDX-License-Identifier: Apache-2.0
/// @file
/// The softmax of the scores of causal attention, and its gradient.
#pragma once

#include <assay/nn/operation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>

namespace assay::nn {

/// Scores become probabilities in place: row t of each context x context matrix is the softmax of
/// its elements 0 to t, and zero behind them.
struct masked_softmax {
  static constexpr std::string_view name = "masked_softmax";
  std::size_t count = 1;
  std::size_t context = 1;

  std::size_t elements() const { return count * context * context; }
  /// Five operations for each element (maximum, difference, exponential, sum, quotient), and all
  /// elements counted, also those that the mask leaves out.
  traffic cost(double narrow = 1) const {
    auto const n = static_cast<double>(elements());
    return detail::elements(narrow * n, narrow * n, 5 * n);
  }

  template <class Real>
  void operator()(std::span<Real> scores) const {
    detail::require_size(name, "scores", scores, elements());
    for (std::size_t r = 0; r < count * context; ++r) {
      auto const row = scores.subspan(r * context, context);
      auto const seen = row.first(r % context + 1);
      auto const largest = *std::max_element(seen.begin(), seen.end());
      Real sum{0};
      for (auto& each : seen) {
        each = std::exp(each - largest);
        sum += each;
      }
      for (auto& each : seen) { each /= sum; }
      std::fill(row.begin() + std::ssize(seen), row.end(), Real{0});
    }
  }
};

/// The gradient dp of the probabilities becomes the gradient ds of the scores in place:
/// ds = p (dp - sum(p dp)), with a sum for each row.
struct masked_softmax_gradient {
  static constexpr std::string_view name = "masked_softmax_gradient";
  std::size_t count = 1;
  std::size_t context = 1;

  std::size_t elements() const { return count * context * context; }
  traffic cost(double narrow = 1) const {
    auto const n = static_cast<double>(elements());
    return detail::elements(2 * narrow * n, narrow * n, 4 * n);
  }

  template <class Real>
  void operator()(in<Real> probabilities, std::span<Real> gradient) const {
    detail::require_size(name, "probabilities", probabilities, elements());
    detail::require_size(name, "gradient", gradient, elements());
    for (std::size_t r = 0; r < count * context; ++r) {
      auto const p = probabilities.subspan(r * context, context);
      auto const d = gradient.subspan(r * context, context);
      auto const seen = r % context + 1;
      Real dot{0};
      for (std::size_t c = 0; c < seen; ++c) { dot += p[c] * d[c]; }
      for (std::size_t c = 0; c < context; ++c) { d[c] = c < seen ? p[c] * (d[c] - dot) : 0; }
    }
  }
};

}  // namespace assay::nn
