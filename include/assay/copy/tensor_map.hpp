// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensor maps: the description of a matrix for the tensor memory accelerator.
#pragma once

#include <assay/copy/matrix_view.hpp>
#include <assay/core/bfloat16.hpp>
#include <assay/core/driver_call.hpp>
#include <assay/core/error.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace assay::copy {

namespace detail {

/// The driver's encoder.
inline auto tensor_map_encoder() {
  static auto const found =
      driver_call<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled", 12000);
  return found;
}

template <class T>
constexpr CUtensorMapDataType tensor_map_type() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, bfloat16>);
  return std::is_same_v<T, float> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                  : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

}  // namespace detail

/// The map of a matrix that is copied in panels of 128 bytes by `panel_rows` rows, swizzled as
/// `swizzled_tile`. Elements outside the matrix read as zero. The map of an empty matrix must not
/// be used. Throws `std::runtime_error` for a matrix that the driver refuses.
template <class T>
CUtensorMap tensor_map(matrix_view<T> const& matrix, int panel_rows) {
  CUtensorMap map{};
  if (matrix.rows == 0 || matrix.cols == 0) { return map; }
  require_chunked(matrix);
  // The innermost dimension first: columns, then rows.
  cuuint64_t const size[2] = {static_cast<cuuint64_t>(matrix.cols),
                              static_cast<cuuint64_t>(matrix.rows)};
  cuuint64_t const pitch_bytes[1] = {static_cast<cuuint64_t>(matrix.pitch) * sizeof(T)};
  cuuint32_t const box[2] = {static_cast<cuuint32_t>(128 / sizeof(T)),
                             static_cast<cuuint32_t>(panel_rows)};
  cuuint32_t const step[2] = {1, 1};
  auto const code = detail::tensor_map_encoder()(
      &map, detail::tensor_map_type<T>(), 2, const_cast<T*>(matrix.first), size, pitch_bytes, box,
      step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (code != CUDA_SUCCESS) {
    throw std::runtime_error("cuTensorMapEncodeTiled refused a matrix of " +
                             std::to_string(matrix.rows) + " x " + std::to_string(matrix.cols) +
                             ", pitch " + std::to_string(matrix.pitch) + ", with error " +
                             std::to_string(static_cast<int>(code)));
  }
  return map;
}

/// The map of `rows` x `columns` elements; from a row to the next are `stride`.
template <class T>
CUtensorMap tensor_map(T const* first, std::size_t rows, std::size_t columns, std::size_t stride,
                       int panel_rows) {
  return tensor_map(matrix_view<T>{first, static_cast<int>(rows), static_cast<int>(columns),
                                   static_cast<std::int64_t>(stride)},
                    panel_rows);
}

}  // namespace assay::copy
