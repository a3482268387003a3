// SPDX-License-Identifier: Apache-2.0
/// @file
/// `memory_type_of` and `memory_place_of`: the memory that CUDA reports for a pointer.
#pragma once

#include <assay/core/error.hpp>
#include <assay/core/memory_type.hpp>

#include <cstddef>

namespace assay {

/// Asks CUDA once about one address. Needs no current device, and does not synchronise.
inline memory_place memory_place_of(void const* address) {
  cudaPointerAttributes found{};
  check(cudaPointerGetAttributes(&found, address));
  switch (found.type) {
    case cudaMemoryTypeHost:
      return {memory_type::page_locked, -1};
    case cudaMemoryTypeManaged:
      return {memory_type::managed, -1};
    case cudaMemoryTypeDevice:
      return {memory_type::device, found.device};
    default:
      return {memory_type::pageable, -1};
  }
}

/// The type of `bytes` bytes at `data`. Memory is `pageable` if its first and last byte differ in
/// type, since only the host can read all of it.
inline memory_type memory_type_of(void const* data, std::size_t bytes) {
  auto const first = memory_place_of(data).type;
  if (bytes < 2) { return first; }
  auto const last = memory_place_of(static_cast<std::byte const*>(data) + bytes - 1).type;
  return first == last ? first : memory_type::pageable;
}

/// The address at which the current device sees page-locked or managed memory; throws `cuda_error`
/// for other memory.
inline void* device_alias(void const* data) {
  cudaPointerAttributes found{};
  check(cudaPointerGetAttributes(&found, data));
  if (found.devicePointer == nullptr) { throw cuda_error(cudaErrorInvalidValue); }
  return found.devicePointer;
}

}  // namespace assay
