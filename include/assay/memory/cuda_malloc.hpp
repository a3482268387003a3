// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::cuda_malloc`: `cudaMalloc` and `cudaFree`; also the base of all device resources.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/request.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::mr {

/// Throws unless `code` is `cudaSuccess`: `out_of_memory` with the free memory of the current
/// device if memory ran out, else `cuda_error`.
inline void check_allocation(cudaError_t code, std::string_view who, std::size_t bytes) {
  if (code == cudaSuccess) [[likely]] { return; }
  (void)cudaGetLastError();
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  std::string state;
  if (cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess) {
    state = ": " + describe_bytes(free_bytes) + " of the card's " + describe_bytes(total_bytes) +
            " are free";
  } else {
    (void)cudaGetLastError();
  }
  // Some calls report an invalid value for a size past the address space.
  bool const absurd = code == cudaErrorInvalidValue && total_bytes != 0 && bytes > total_bytes;
  if (code != cudaErrorMemoryAllocation && !absurd) { throw cuda_error(code); }
  throw out_of_memory(std::string{who} + ": no room for " + describe_bytes(bytes) + state);
}

/// The base of device resources.
template <class Derived>
struct device_calls : synchronous_calls<Derived> {
  static constexpr bool device_accessible = true;
  static ::cuda::stream_ref sync_stream() noexcept { return ::cuda::stream_ref{cudaStreamLegacy}; }
  bool operator==(device_calls const&) const = default;
};

/// `cudaMalloc` and `cudaFree` on one device; both may wait for all work on it. Resources of one
/// device are equal.
class cuda_malloc_resource : public device_calls<cuda_malloc_resource> {
 public:
  explicit cuda_malloc_resource(on::device place) : place_(place) {}

  /// Throws `mr::out_of_memory`.
  void* allocate(::cuda::stream_ref, std::size_t bytes, std::size_t alignment = default_alignment) {
    require_alignment(alignment);
    if (bytes == 0) { return nullptr; }
    nvtx_range const here{"mr::cuda_malloc allocate", category::allocation, bytes};
    device_guard const guard{place_};
    void* block = nullptr;
    check_allocation(cudaMalloc(&block, bytes), "mr::cuda_malloc", bytes);
    return block;
  }
  void deallocate(::cuda::stream_ref, void* block, std::size_t bytes,
                  std::size_t = default_alignment) noexcept {
    if (block == nullptr) { return; }
    nvtx_range const here{"mr::cuda_malloc deallocate", category::allocation, bytes};
    relaxed_capture_guard const relaxed;  // buffers call this in destructors
    check_noexcept(cudaFree(block));
  }
  bool operator==(cuda_malloc_resource const&) const = default;

 private:
  on::device place_;
};

/// Memory from `cudaMalloc`, call by call.
struct cuda_malloc {
  static constexpr std::string_view name = "mr::cuda_malloc";
  cuda_malloc_resource open(on::device place) const {
    require_device(place);
    return cuda_malloc_resource{place};
  }
  bool operator==(cuda_malloc const&) const = default;
};

static_assert(memory_resource<cuda_malloc_resource, ::cuda::stream_ref>);
static_assert(memory_policy<cuda_malloc, on::device>);

}  // namespace assay::mr
