// SPDX-License-Identifier: Apache-2.0
/// @file
/// `matrix`: rows of an array, with or without padding between them.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace assay {

/// The rows of an array. Element (row, column) has the index row * leading_dimension + column. The
/// leading dimension counts elements, as in BLAS and as `stride(0)` of an mdspan. Behind each row,
/// the last one too, lies padding, which calls do not write.
struct matrix {
  std::size_t rows = 0, columns = 0;
  /// At least `columns`. With 0 the setup chooses it: no padding in comparisons, and in `verify`
  /// also one element, or up to the next multiple of 16 elements.
  std::size_t leading_dimension = 0;

  /// The number of elements, with padding; the largest number where there are more.
  std::size_t size() const noexcept {
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    if (rows == 0 || columns == 0) { return 0; }
    return leading_dimension > most / rows ? most : rows * leading_dimension;
  }
  bool is_padding(std::size_t index) const noexcept {
    return leading_dimension > columns && index % leading_dimension >= columns;
  }
};

namespace arrays {

/// The number of leading dimensions among which a setup chooses.
inline constexpr std::size_t row_layouts = 3;

namespace detail {

/// `f(row, column)` as a function of the index; zero for padding.
template <class F>
auto by_index(matrix of, F f) {
  return [of, f = std::move(f)](std::size_t index) {
    auto const row = index / of.leading_dimension, column = index % of.leading_dimension;
    using result = std::remove_cvref_t<decltype(f(row, column))>;
    return column < of.columns ? result{f(row, column)} : result{};
  };
}

}  // namespace detail
}  // namespace arrays
}  // namespace assay
