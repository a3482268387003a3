// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rows of a table, one for each token, and the gradient of the table.
#pragma once

#include <assay/nn/operation.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace assay::nn {

/// The positions of the tokens of a batch by word. The gradient of an embedding then adds the rows
/// of a word in the order of their positions, without atomics.
struct token_positions {
  std::span<token const> order;   ///< all positions, grouped by word
  std::span<token const> begins;  ///< the first one of each word in `order`, and the end

  std::span<token const> of(std::size_t word) const {
    auto const first = static_cast<std::size_t>(begins[word]);
    return order.subspan(first, static_cast<std::size_t>(begins[word + 1]) - first);
  }
};

/// Writes the positions of tokens by word: `order` has a place for each token, `begins` one for
/// each word and one more. Throws `std::invalid_argument` for a token beyond the vocabulary.
inline void sort_positions(std::span<token const> tokens, std::span<token> order,
                           std::span<token> begins) {
  detail::require_size("sort_positions", "order", order, tokens.size());
  auto const vocabulary = begins.size() - 1;
  std::fill(begins.begin(), begins.end(), 0);
  for (auto const each : tokens) {
    detail::require_token(each, vocabulary);
    ++begins[static_cast<std::size_t>(each) + 1];
  }
  for (std::size_t word = 0; word < vocabulary; ++word) { begins[word + 1] += begins[word]; }
  std::vector<token> next(begins.begin(), begins.end());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    auto& place = next[static_cast<std::size_t>(tokens[i])];
    order[static_cast<std::size_t>(place++)] = static_cast<token>(i);
  }
}

/// out[i] = table[tokens[i]].
struct embedding {
  static constexpr std::string_view name = "embedding";
  std::size_t rows = 1;
  std::size_t width = 1;
  std::size_t vocabulary = 1;

  traffic cost(double /*narrow*/ = 1) const {
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

  traffic cost(double /*narrow*/ = 1) const {
    auto const n = detail::product_of(rows, width);
    auto const listed = static_cast<double>(rows + vocabulary + 1);
    return detail::elements(n + listed, detail::product_of(vocabulary, width), n);
  }

  template <class Real>
  void operator()(token_positions const& tokens, in<Real> out_gradient,
                  std::span<Real> table_gradient) const {
    detail::require_size(name, "the order of positions", tokens.order, rows);
    detail::require_size(name, "the list of begins", tokens.begins, vocabulary + 1);
    detail::require_size(name, "out_gradient", out_gradient, rows * width);
    detail::require_size(name, "table_gradient", table_gradient, vocabulary * width);
    std::fill(table_gradient.begin(), table_gradient.end(), Real{0});
    for (std::size_t word = 0; word < vocabulary; ++word) {
      auto const row = table_gradient.subspan(word * width, width);
      for (auto const position : tokens.of(word)) {
        auto const from = out_gradient.subspan(static_cast<std::size_t>(position) * width, width);
        for (std::size_t c = 0; c < width; ++c) { row[c] += from[c]; }
      }
    }
  }
};

}  // namespace assay::nn
