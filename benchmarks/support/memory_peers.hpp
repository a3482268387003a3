// SPDX-License-Identifier: Apache-2.0
/// @file
/// RMM's resources as peers of `mr::pool`, where RMM's headers are in reach.
#pragma once

#include <cstddef>
#include <string>

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
