// SPDX-License-Identifier: Apache-2.0
/// @file
/// Stands where `nccl/nccl_contender.cuh` does in a build without NCCL.
#pragma once

#include "../contender.cuh"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace assay::examples {

inline constexpr bool has_nccl = false;

enum class nccl_buffers { plain, windows };

template <class T>
std::optional<contender<T>> nccl_contender(examples::rank_threads&, std::size_t, std::uint64_t,
                                           nccl_buffers) {
  return std::nullopt;
}

}  // namespace assay::examples
