// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rotary position embedding (Su et al. 2021): pairs of neighbours are turned by their position.
#pragma once

#include <assay/nn/operation.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace assay::nn {

/// The base of the angles.
inline constexpr double rope_base = 1e4;

/// cos and sin of position t and pair i at 2 (t head_size / 2 + i) and behind it. The angle is
/// t / base^(2 i / head_size).
template <class Real>
std::vector<Real> rope_table(std::size_t context, std::size_t head_size) {
  std::vector<Real> table;
  table.reserve(context * head_size);
  for (std::size_t t = 0; t < context; ++t) {
    for (std::size_t i = 0; i < head_size / 2; ++i) {
      auto const share = static_cast<double>(2 * i) / static_cast<double>(head_size);
      auto const angle = static_cast<double>(t) * std::pow(rope_base, -share);
      table.push_back(static_cast<Real>(std::cos(angle)));
      table.push_back(static_cast<Real>(std::sin(angle)));
    }
  }
  return table;
}

/// Turns each pair (x[2i], x[2i+1]) of each head in place, forth or `back`. The gradient of a turn
/// forth is turned back.
struct rope {
  static constexpr std::string_view name = "rope";
  std::size_t batch = 1;
  std::size_t context = 1;
  std::size_t heads = 1;
  std::size_t head_size = 2;
  bool back = false;
  std::size_t stride = heads * head_size;  ///< elements from a position to the next

  std::size_t rows() const { return batch * context; }
  std::size_t elements() const { return rows() * heads * head_size; }
  /// Elements from the first to the last one.
  std::size_t extent() const { return (rows() - 1) * stride + heads * head_size; }
  traffic cost(double narrow = 1) const {
    auto const n = static_cast<double>(elements());
    return detail::elements(narrow * n + detail::product_of(context, head_size), narrow * n, 3 * n);
  }

  /// table: `rope_table`; x: batch x context x heads x head_size, positions `stride` apart.
  template <class Real>
  void operator()(in<Real> table, std::span<Real> x) const {
    detail::require_size(name, "table", table, context * head_size);
    detail::require_size(name, "x", x, extent());
    for (std::size_t row = 0; row < rows(); ++row) {
      for (std::size_t c = 0; c < heads * head_size; c += 2) {
        auto const entry = row % context * head_size + c % head_size;
        auto const cosine = table[entry];
        auto const sine = back ? -table[entry + 1] : table[entry + 1];
        auto& to = x[row * stride + c];
        auto& next = x[row * stride + c + 1];
        auto const first = to, second = next;
        to = first * cosine - second * sine;
        next = first * sine + second * cosine;
      }
    }
  }
};

}  // namespace assay::nn
