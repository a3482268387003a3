// SPDX-License-Identifier: Apache-2.0
/// @file
/// `memory_type_of`: the type of memory that CUDA reports for a pointer.
#pragma once

#include <assay/core/error.hpp>
#include <assay/core/memory_type.hpp>

#include <cstddef>

namespace assay {

/// The type of `bytes` bytes at `data`. Memory whose first and last byte differ in type is
/// `pageable`, since only the host can read all of it.
inline memory_type memory_type_of(void const* data, std::size_t bytes) {
  auto const at = [](void const* address) {
    cudaPointerAttributes found{};
    check(cudaPointerGetAttributes(&found, address));
    switch (found.type) {
      case cudaMemoryTypeHost:
        return memory_type::page_locked;
      case cudaMemoryTypeManaged:
        return memory_type::managed;
      case cudaMemoryTypeDevice:
        return memory_type::device;
      default:
        return memory_type::pageable;
    }
  };
  auto const first = at(data);
  if (bytes < 2) { return first; }
  auto const last = at(static_cast<std::byte const*>(data) + bytes - 1);
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
