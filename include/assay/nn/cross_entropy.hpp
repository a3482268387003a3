// SPDX-License-Identifier: Apache-2.0
/// @file
/// The cross-entropy of targets under logits, with its gradient in the same pass, and the mean.
#pragma once

#include <assay/nn/operation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

namespace assay::nn {

/// losses[r] = log(sum(exp(logits[r]))) - logits[r][targets[r]]. The logits become the gradient of
/// the mean of all losses: (softmax(logits[r]) - 1 at the target) / rows.
struct cross_entropy {
  static constexpr std::string_view name = "cross_entropy";
  std::size_t rows = 1;
  std::size_t vocabulary = 1;

  traffic cost(double narrow = 1) const {
    auto const n = detail::product_of(rows, vocabulary);
    auto const r = static_cast<double>(rows);
    return detail::elements(narrow * n + r, narrow * n + r, 6 * n);
  }

  template <class Real>
  void operator()(std::span<token const> targets, std::span<Real> logits,
                  std::span<Real> losses) const {
    detail::require_size(name, "targets", targets, rows);
    detail::require_size(name, "logits", logits, rows * vocabulary);
    detail::require_size(name, "losses", losses, rows);
    for (std::size_t r = 0; r < rows; ++r) {
      detail::require_token(targets[r], vocabulary);
      auto const row = logits.subspan(r * vocabulary, vocabulary);
      auto const target = static_cast<std::size_t>(targets[r]);
      auto const of_target = row[target];
      auto const largest = *std::max_element(row.begin(), row.end());
      Real sum{0};
      for (auto const each : row) { sum += std::exp(each - largest); }
      losses[r] = std::log(sum) + largest - of_target;
      for (auto& each : row) { each = std::exp(each - largest) / sum / static_cast<Real>(rows); }
      row[target] -= 1 / static_cast<Real>(rows);
    }
  }
};

/// out[0] = the mean of all values.
struct mean {
  static constexpr std::string_view name = "mean";
  std::size_t count = 1;

  traffic cost(double /*narrow*/ = 1) const {
    auto const n = static_cast<double>(count);
    return detail::elements(n, 1, n);
  }

  template <class Real>
  void operator()(in<Real> values, std::span<Real> out) const {
    detail::require_size(name, "values", values, count);
    detail::require_size(name, "out", out, 1);
    Real sum{0};
    for (auto const each : values) { sum += each; }
    out[0] = sum / static_cast<Real>(count);
  }
};

}  // namespace assay::nn
