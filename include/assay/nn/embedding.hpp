// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rows of a table, one for each token, and the gradient of the table.
#pragma once

#include <assay/nn/operation.hpp>

#include <algorithm>

namespace assay::nn {

/// out[i] = table[tokens[i]].
struct embedding {
  static constexpr std::string_view name = "embedding";
  std::size_t rows = 1;
  std::size_t width = 1;
  std::size_t vocabulary = 1;

  traffic cost() const {
    auto const n = detail::product_of(rows, width);
    return detail::elements(n + static_cast<double>(rows), n, 0);
  }

  /// tokens: rows; table: vocabulary x width; out: rows x width.
  template <class Real>
  void operator()(std::span<token const> tokens, in<Real> table, std::span<Real> out) const {
    detail::require_size(name, "tokens", tokens, rows);
    detail::require_size(name, "table", table, vocabulary * width);
    detail::require_size(name, "out", out, rows * width);
    for (std::size_t i = 0; i < rows; ++i) {
      detail::require_token(tokens[i], vocabulary);
      auto const row = table.subspan(static_cast<std::size_t>(tokens[i]) * width, width);
      std::copy(row.begin(), row.end(), out.begin() + static_cast<std::ptrdiff_t>(i * width));
    }
  }
};

/// table_gradient[v] = the sum of out_gradient[i] over all i with tokens[i] = v, in order of i.
struct embedding_gradient {
  static constexpr std::string_view name = "embedding_gradient";
  std::size_t rows = 1;
  std::size_t width = 1;
  std::size_t vocabulary = 1;

  traffic cost() const {
    auto const n = detail::product_of(rows, width);
    return detail::elements(n + static_cast<double>(rows), detail::product_of(vocabulary, width),
                            n);
  }

  template <class Real>
  void operator()(std::span<token const> tokens, in<Real> out_gradient,
                  std::span<Real> table_gradient) const {
    detail::require_size(name, "tokens", tokens, rows);
    detail::require_size(name, "out_gradient", out_gradient, rows * width);
    detail::require_size(name, "table_gradient", table_gradient, vocabulary * width);
    std::fill(table_gradient.begin(), table_gradient.end(), Real{0});
    for (std::size_t i = 0; i < rows; ++i) {
      detail::require_token(tokens[i], vocabulary);
      auto const row = table_gradient.subspan(static_cast<std::size_t>(tokens[i]) * width, width);
      for (std::size_t c = 0; c < width; ++c) { row[c] += out_gradient[i * width + c]; }
    }
  }
};

}  // namespace assay::nn
