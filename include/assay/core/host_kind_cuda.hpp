// SPDX-License-Identifier: Apache-2.0
/// @file
/// Asking CUDA what kind of memory a pointer is of.
#pragma once

#include <assay/core/error.hpp>
#include <assay/core/host_kind.hpp>

#include <cstddef>

namespace assay {

/// The kind of `bytes` bytes at `data`; memory whose ends are of different kinds is `pageable`,
/// since only the host can be trusted to read it as a whole.
inline host_kind host_kind_of(void const* data, std::size_t bytes) {
  auto const at = [](void const* address) {
    cudaPointerAttributes found{};
    check(cudaPointerGetAttributes(&found, address));
    switch (found.type) {
      case cudaMemoryTypeHost:
        return host_kind::page_locked;
      case cudaMemoryTypeManaged:
        return host_kind::managed;
      case cudaMemoryTypeDevice:
        return host_kind::device;
      default:
        return host_kind::pageable;
    }
  };
  auto const first = at(data);
  if (bytes < 2) { return first; }
  auto const last = at(static_cast<std::byte const*>(data) + bytes - 1);
  return first == last ? first : host_kind::pageable;
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
