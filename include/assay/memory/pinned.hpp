// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::pinned`: page-locked host memory that the device reaches too.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/memory/cuda_malloc.hpp>

#include <cstddef>
#include <string_view>

namespace assay::mr {

/// Allocates by `cudaHostAlloc`, visible to every device, and frees by `cudaFreeHost`. `deallocate`
/// waits for its stream.
class pinned_resource : public device_calls<pinned_resource> {
 public:
  static constexpr bool host_accessible = true;

  explicit pinned_resource(on::device place) : place_(place) {}

  /// Throws `mr::out_of_memory`.
  void* allocate(::cuda::stream_ref, std::size_t bytes, std::size_t alignment = default_alignment) {
    require_alignment(alignment);
    if (bytes == 0) { return nullptr; }
    nvtx_range const here{"mr::pinned allocate", category::allocation, bytes};
    device_guard const guard{place_};
    void* block = nullptr;
    auto const code = cudaHostAlloc(&block, bytes, cudaHostAllocPortable);
    // Only the size can be invalid here.
    if (code == cudaErrorMemoryAllocation || code == cudaErrorInvalidValue) {
      (void)cudaGetLastError();
      throw out_of_memory("mr::pinned: the host has no " + describe_bytes(bytes) +
                          " that can be page-locked");
    }
    check(code);
    return block;
  }
  void deallocate(::cuda::stream_ref stream, void* block, std::size_t bytes,
                  std::size_t = default_alignment) noexcept {
    if (block == nullptr) { return; }
    nvtx_range const here{"mr::pinned deallocate", category::allocation, bytes};
    relaxed_capture_guard const relaxed;  // buffers call this in destructors
    check_noexcept(cudaStreamSynchronize(stream.get()));
    check_noexcept(cudaFreeHost(block));
  }
  bool operator==(pinned_resource const&) const = default;

 private:
  on::device place_;
};

/// Page-locked host memory.
struct pinned {
  static constexpr std::string_view name = "mr::pinned";
  pinned_resource open(on::device place) const {
    require_device(place);
    return pinned_resource{place};
  }
  bool operator==(pinned const&) const = default;
};

static_assert(memory_resource<pinned_resource, ::cuda::stream_ref>);
static_assert(memory_policy<pinned, on::device>);

}  // namespace assay::mr
