// SPDX-License-Identifier: Apache-2.0
/// @file
/// A view of a row-major matrix.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace assay::copy {

/// `rows` x `cols` elements, row r at `first + r * pitch`.
template <class T>
struct matrix_view {
  T const* first = nullptr;
  int rows = 0;
  int cols = 0;
  std::int64_t pitch = 0;  ///< elements from one row to the next
  bool operator==(matrix_view const&) const = default;
};

/// The least pitch at which rows of so many elements begin at multiples of 16 bytes.
template <class T>
constexpr std::int64_t chunked_pitch(std::int64_t cols) {
  constexpr std::int64_t in_chunk = 16 / sizeof(T);
  return (cols + in_chunk - 1) / in_chunk * in_chunk;
}

/// Throws `std::invalid_argument` unless every row begins at a multiple of 16 bytes: what all
/// strategies copy tiles in.
template <class T>
void require_chunked(matrix_view<T> const& matrix) {
  auto const address = reinterpret_cast<std::uintptr_t>(matrix.first);
  auto const pitch_bytes = matrix.pitch * static_cast<std::int64_t>(sizeof(T));
  if (address % 16 != 0) {
    throw std::invalid_argument("a matrix begins " + std::to_string(address % 16) +
                                " bytes after a multiple of 16: it must begin at one");
  }
  if (pitch_bytes % 16 != 0 || matrix.pitch < matrix.cols) {
    throw std::invalid_argument("a matrix of " + std::to_string(matrix.cols) +
                                " columns has a pitch of " + std::to_string(matrix.pitch) +
                                " elements: it must hold a row, in whole units of 16 bytes");
  }
}

}  // namespace assay::copy
