// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arrays of a setup as `cuda::std::mdspan`, for launchers that take one.
#pragma once

#include <assay/arrays/array_view.hpp>

#include <cuda/std/array>
#include <cuda/std/mdspan>

#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace assay {

/// A contiguous array in the layout `layout_right`: `mdspan_of(x, rows, columns)`. `Index` is the
/// type in which kernels compute indices. Throws `std::invalid_argument` unless the product of the
/// extents is the number of elements.
template <class Index = std::size_t, class T, std::convertible_to<Index>... Extents>
requires(sizeof...(Extents) > 0)
auto mdspan_of(array_view<T> of, Extents... extents) {
  auto const size = (std::size_t{1} * ... * static_cast<std::size_t>(extents));
  if (size != of.size()) {
    throw std::invalid_argument("mdspan_of: extents of " + std::to_string(size) +
                                " elements for an array of " + std::to_string(of.size()));
  }
  using sides = ::cuda::std::dextents<Index, sizeof...(Extents)>;
  return ::cuda::std::mdspan<T, sides>{of.data(), static_cast<Index>(extents)...};
}

/// A matrix in the layout `layout_stride`, without its padding.
template <class Index = std::size_t, class T>
auto mdspan_of(matrix_view<T> of) {
  using sides = ::cuda::std::dextents<Index, 2>;
  using layout = ::cuda::std::layout_stride;
  auto const index = [](std::size_t each) { return static_cast<Index>(each); };
  typename layout::template mapping<sides> const rows{
      sides{index(of.rows()), index(of.columns())},
      ::cuda::std::array<Index, 2>{index(of.leading_dimension()), Index{1}}};
  return ::cuda::std::mdspan<T, sides, layout>{of.data(), rows};
}

}  // namespace assay
