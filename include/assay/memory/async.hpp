// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::async`: the driver's stream-ordered allocator, on a pool of its own.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/memory/cuda_malloc.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::mr {

/// `cudaMallocFromPoolAsync` and `cudaFreeAsync` on a `cudaMemPool_t` of its own, which the copies
/// of the handle share. The last copy destroys the pool and does not wait. The driver keeps the
/// pool while blocks are live and while frees are pending.
class async_resource : public device_calls<async_resource> {
 public:
  /// Under capture the driver turns both calls into nodes of the graph, and the graph keeps their
  /// memory. A hold has nothing to do.
  struct capture_hold {
    void end() noexcept {}
  };

  async_resource(on::device place, std::uint64_t release_threshold_bytes, std::size_t initial_bytes)
      : state_(new state(place)) {
    auto threshold = release_threshold_bytes;
    check(cudaMemPoolSetAttribute(state_->pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    if (initial_bytes == 0) { return; }
    stream const primer{place};
    ::cuda::stream_ref const where = primer;
    deallocate(where, allocate(where, initial_bytes), initial_bytes);
    primer.synchronize();
  }

  /// Throws `mr::out_of_memory`.
  void* allocate(::cuda::stream_ref stream, std::size_t bytes,
                 std::size_t alignment = default_alignment) {
    require_alignment(alignment);
    if (bytes == 0) { return nullptr; }
    nvtx_range const here{"mr::async allocate", category::allocation, bytes};
    void* block = nullptr;
    check_allocation(cudaMallocFromPoolAsync(&block, bytes, state_->pool, stream.get()),
                     "mr::async", bytes);
    return block;
  }
  void deallocate(::cuda::stream_ref stream, void* block, std::size_t bytes,
                  std::size_t = default_alignment) noexcept {
    if (block == nullptr) { return; }
    nvtx_range const here{"mr::async deallocate", category::allocation, bytes};
    check_noexcept(cudaFreeAsync(block, stream.get()));
  }

  capture_hold capture(::cuda::stream_ref) noexcept { return {}; }

  /// Live, peak and reserved bytes as the driver's pool counts them, with sizes rounded up. The
  /// driver does not count calls.
  statistics stats() const {
    statistics found;
    found.live_bytes = attribute_of(cudaMemPoolAttrUsedMemCurrent);
    found.peak_bytes = attribute_of(cudaMemPoolAttrUsedMemHigh);
    found.reserved_bytes = attribute_of(cudaMemPoolAttrReservedMemCurrent);
    return found;
  }

  cudaMemPool_t get() const noexcept { return state_->pool; }
  bool operator==(async_resource const&) const = default;

 private:
  struct state {
    explicit state(on::device place) {
      cudaMemPoolProps wanted{};
      wanted.allocType = cudaMemAllocationTypePinned;
      wanted.location.type = cudaMemLocationTypeDevice;
      wanted.location.id = place.id;
      check(cudaMemPoolCreate(&pool, &wanted));
    }
    state(state const&) = delete;
    state& operator=(state const&) = delete;
    // CUDA's documents promise that the driver releases a pool once its pending frees have passed.
    // A wait for the device here could end the capture of another thread.
    ~state() {
      relaxed_capture_guard const relaxed;
      check_noexcept(cudaMemPoolDestroy(pool));
    }
    cudaMemPool_t pool = nullptr;
  };

  std::uint64_t attribute_of(cudaMemPoolAttr which) const {
    std::uint64_t value = 0;
    check(cudaMemPoolGetAttribute(state_->pool, which, &value));
    return value;
  }

  std::shared_ptr<state> state_;
};

/// Memory from the driver's asynchronous allocator.
struct async {
  /// Free bytes that the driver keeps at a synchronisation. It returns more than these to the
  /// system.
  std::uint64_t release_threshold_bytes = std::numeric_limits<std::uint64_t>::max();
  std::size_t initial_bytes = 0;  ///< reserved at opening

  static constexpr std::string_view name = "mr::async";
  std::string describe() const {
    async const usual{};
    parameter_list all;
    if (initial_bytes != usual.initial_bytes) { all.show(describe_bytes(initial_bytes)); }
    return all
        .show("release_threshold_bytes", release_threshold_bytes, usual.release_threshold_bytes,
              describe_bytes)
        .after(name);
  }
  /// Throws `std::runtime_error` where the device has no memory pools.
  async_resource open(on::device place) const {
    require_device(place);
    if (attribute(place, cudaDevAttrMemoryPoolsSupported) == 0) {
      throw std::runtime_error("mr::async: device " + std::to_string(place.id) +
                               " has no memory pools; use mr::pool or mr::cuda_malloc");
    }
    return async_resource{place, release_threshold_bytes, initial_bytes};
  }
  bool operator==(async const&) const = default;
};

static_assert(capturable_memory<async_resource, ::cuda::stream_ref>);
static_assert(memory_policy<async, on::device>);

}  // namespace assay::mr
