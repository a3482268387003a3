// SPDX-License-Identifier: Apache-2.0
/// @file
/// Leading dimensions among which a setup chooses, and elements of arrays in words.
#pragma once

#include <assay/arrays/matrix.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::arrays::detail {

/// The leading dimension of a layout below `row_layouts`, where rows begin at multiples of `step`
/// elements.
inline std::size_t leading_dimension(matrix const& of, std::size_t step, std::size_t layout) {
  auto const vectors = std::lcm(step, std::size_t{16});  // rows of all types at 16 bytes
  auto const least = (std::max(of.columns, std::size_t{1}) + step - 1) / step * step;
  return std::array<std::size_t, row_layouts>{least, least + step,
                                              (least / vectors + 1) * vectors}[layout];
}

inline void require_leading_dimension(matrix const& of) {
  auto const least = std::max(of.columns, std::size_t{1});
  if (of.leading_dimension >= least) { return; }
  throw std::invalid_argument(
      "matrix: a leading dimension of " + std::to_string(of.leading_dimension) + " for " +
      std::to_string(of.columns) + " columns; at least " + std::to_string(least) + " is needed");
}

/// Rows without padding, moved apart to their leading dimension; padding is zeros.
inline std::vector<std::byte> spread_rows(std::span<std::byte const> from, matrix const& to,
                                          std::size_t element_bytes) {
  std::vector<std::byte> made(to.size() * element_bytes);
  auto const row = to.columns * element_bytes;
  for (std::size_t i = 0; i * row < from.size(); ++i) {
    std::ranges::copy(
        from.subspan(i * row, row),
        made.begin() + static_cast<std::ptrdiff_t>(i * to.leading_dimension * element_bytes));
  }
  return made;
}

/// An array in words: its name, with the leading dimension of its rows.
inline std::string array_in_words(matrix const& of, std::string const& name) {
  return name + (of.leading_dimension == 0
                     ? ""
                     : " (leading dimension " + std::to_string(of.leading_dimension) + ")");
}

/// An element of an array in words: "element 5 of y", or its row and column.
inline std::string place_in(matrix const& of, std::size_t index, std::string const& name) {
  auto const step = of.leading_dimension;
  return (step == 0 ? "element " + std::to_string(index)
                    : "row " + std::to_string(index / step) + ", column " +
                          std::to_string(index % step)) +
         " of " + array_in_words(of, name);
}

/// What is said of an element of floating type that holds poison. NaN of a poison goes through
/// arithmetic of a host with all its bits, so one call cannot tell the two apart.
inline constexpr char const* poison_in_words = " was never written, or computed from what it held";
/// The same of an integer, which holds such a number.
inline constexpr char const* integer_poison_in_words = " as if it was never written";

}  // namespace assay::arrays::detail
