// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rotary position embedding (Su et al. 2021): pairs of neighbours are turned by their position.
#pragma once

#include <assay/nn/operation.hpp>

#include <cmath>
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

  std::size_t elements() const { return batch * context * heads * head_size; }
  traffic cost() const {
    auto const n = static_cast<double>(elements());
    return detail::elements(n + detail::product_of(context, head_size), n, 3 * n);
  }

  /// table: `rope_table`; x: batch x context x heads x head_size.
  template <class Real>
  void operator()(in<Real> table, std::span<Real> x) const {
    detail::require_size(name, "table", table, context * head_size);
    detail::require_size(name, "x", x, elements());
    for (std::size_t at = 0; at < x.size(); at += 2) {
      auto const position = at / (heads * head_size) % context;
      auto const entry = position * head_size + at % head_size;
      auto const cosine = table[entry];
      auto const sine = back ? -table[entry + 1] : table[entry + 1];
      auto const first = x[at], second = x[at + 1];
      x[at] = first * cosine - second * sine;
      x[at + 1] = first * sine + second * cosine;
    }
  }
};

}  // namespace assay::nn
