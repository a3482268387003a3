// SPDX-License-Identifier: Apache-2.0
/// @file
/// Resources of CCCL and of RMM as peers of `mr::pool`, where their headers are in reach.
#pragma once

#include <assay/core/cccl.hpp>
#include <assay/core/place.hpp>

#include <cstddef>
#include <memory>

#if __has_include(<cuda/memory_pool>)  // CCCL 3.2 and later
#include <cuda/devices>
#include <cuda/memory_pool>

namespace assay::benchmark {

/// `cuda::device_memory_pool`, the driver's pool behind CCCL's interface, as a copyable handle.
class cccl_pool {
 public:
  cccl_pool(on::device place, std::size_t initial_bytes)
      : pool_(std::make_shared<::cuda::device_memory_pool>(
            ::cuda::devices[static_cast<std::size_t>(place.id)],
            ::cuda::memory_pool_properties{.initial_pool_size = initial_bytes})) {}
  void* allocate(::cuda::stream_ref stream, std::size_t bytes, std::size_t alignment) {
    return pool_->allocate(stream, bytes, alignment);
  }
  void deallocate(::cuda::stream_ref stream, void* block, std::size_t bytes,
                  std::size_t alignment) noexcept {
    pool_->deallocate(stream, block, bytes, alignment);
  }

 private:
  std::shared_ptr<::cuda::device_memory_pool> pool_;
};

/// Calls `use(name, make)` for CCCL's pool.
template <class Use>
void with_cccl_peer(on::device place, std::size_t initial_bytes, Use use) {
  use("cuda::device_memory_pool", [=] { return cccl_pool{place, initial_bytes}; });
}

}  // namespace assay::benchmark

#else

namespace assay::benchmark {

template <class Use>
void with_cccl_peer(on::device, std::size_t, Use) {}

}  // namespace assay::benchmark

#endif

#if __has_include(<rmm/mr/pool_memory_resource.hpp>)
#include <rmm/mr/arena_memory_resource.hpp>
#include <rmm/mr/cuda_async_memory_resource.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>

namespace assay::benchmark {

/// Calls `use(name, make)` for each peer of RMM. `make()` opens it with the initial bytes. Without
/// them there is no arena: it has its whole size from the start, half of the card by default, and
/// never grows.
template <class Use>
void each_rmm_peer(std::size_t initial_bytes, Use use) {
  use("rmm pool", [=] {
    return rmm::mr::pool_memory_resource{rmm::mr::cuda_memory_resource{}, initial_bytes};
  });
  if (initial_bytes > 0) {
    use("rmm arena", [=] {
      return rmm::mr::arena_memory_resource{rmm::mr::cuda_memory_resource{}, initial_bytes};
    });
  }
  use("rmm cuda_async", [=] { return rmm::mr::cuda_async_memory_resource{initial_bytes}; });
}

}  // namespace assay::benchmark

#else

namespace assay::benchmark {

template <class Use>
void each_rmm_peer(std::size_t, Use) {}

}  // namespace assay::benchmark

#endif
