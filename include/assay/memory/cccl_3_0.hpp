// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::cccl_3_0`: any of our resources as a `cuda::mr::async_resource` of CCCL 3.0.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/memory/request.hpp>

#include <cstddef>
#include <utility>

namespace assay::mr {

/// A resource with the calls of CCCL 3.0: size first, stream last. Copies share the state of `R`.
template <class R>
class cccl_3_0 {
 public:
  static constexpr bool device_accessible = is_device_accessible<R>;
  static constexpr bool host_accessible = is_host_accessible<R>;

  explicit cccl_3_0(R resource) : resource_(std::move(resource)) {}

  void* allocate(std::size_t bytes, std::size_t alignment = default_alignment) {
    return resource_.allocate_sync(bytes, alignment);
  }
  void deallocate(void* block, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept {
    resource_.deallocate_sync(block, bytes, alignment);
  }
  void* allocate_async(std::size_t bytes, std::size_t alignment, ::cuda::stream_ref stream) {
    return resource_.allocate(stream, bytes, alignment);
  }
  void* allocate_async(std::size_t bytes, ::cuda::stream_ref stream) {
    return resource_.allocate(stream, bytes, default_alignment);
  }
  void deallocate_async(void* block, std::size_t bytes, std::size_t alignment,
                        ::cuda::stream_ref stream) noexcept {
    resource_.deallocate(stream, block, bytes, alignment);
  }
  void deallocate_async(void* block, std::size_t bytes, ::cuda::stream_ref stream) noexcept {
    resource_.deallocate(stream, block, bytes, default_alignment);
  }
  bool operator==(cccl_3_0 const&) const = default;

 private:
  R resource_;
};

}  // namespace assay::mr
