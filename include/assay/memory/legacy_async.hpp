// SPDX-License-Identifier: Apache-2.0
/// @file
/// The calls of CCCL 3.0's `cuda::mr::async_resource` over any of our resources.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/memory/request.hpp>

#include <cstddef>
#include <utility>

namespace assay::mr {

/// Size first, stream last, and the calls without a stream named as those with one. Copies share
/// what copies of `R` share.
template <class R>
class legacy_async {
 public:
  static constexpr bool device_accessible = is_device_accessible<R>;
  static constexpr bool host_accessible = is_host_accessible<R>;

  explicit legacy_async(R resource) : resource_(std::move(resource)) {}

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
  bool operator==(legacy_async const&) const = default;

 private:
  R resource_;
};

}  // namespace assay::mr
