// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::managed`: memory that migrates between host and device, within the free memory of the card.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/memory/cuda_malloc.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::mr {

/// `cudaMallocManaged` and `cudaFree`. The live bytes of all copies of a handle stay below a
/// budget, since a card that is oversubscribed measures paging and not the work. `deallocate` may
/// wait for all work on the device.
class managed_resource : public device_calls<managed_resource> {
 public:
  static constexpr bool host_accessible = true;

  managed_resource(on::device place, std::size_t budget_bytes)
      : state_(std::make_shared<state>(place, budget_bytes)) {}

  /// Throws `mr::out_of_memory` with the budget's state.
  void* allocate(::cuda::stream_ref, std::size_t bytes, std::size_t alignment = default_alignment) {
    require_alignment(alignment);
    if (bytes == 0) { return nullptr; }
    nvtx_range const here{"mr::managed allocate", category::allocation, bytes};
    auto live = state_->live_bytes.load(std::memory_order_relaxed);
    do {
      if (bytes > state_->budget_bytes - live) {
        throw out_of_memory("mr::managed: no room for " + describe_bytes(bytes) + ": " +
                            describe_bytes(live) + " of the budget of " +
                            describe_bytes(state_->budget_bytes) + " are live");
      }
    } while (
        !state_->live_bytes.compare_exchange_weak(live, live + bytes, std::memory_order_relaxed));
    void* block = nullptr;
    try {
      device_guard const guard{state_->place};
      check_allocation(cudaMallocManaged(&block, bytes, cudaMemAttachGlobal), "mr::managed", bytes);
    } catch (...) {
      state_->live_bytes.fetch_sub(bytes, std::memory_order_relaxed);
      throw;
    }
    return block;
  }
  void deallocate(::cuda::stream_ref, void* block, std::size_t bytes,
                  std::size_t = default_alignment) noexcept {
    if (block == nullptr) { return; }
    nvtx_range const here{"mr::managed deallocate", category::allocation, bytes};
    relaxed_capture_guard const relaxed;  // buffers call this in destructors
    check_noexcept(cudaFree(block));
    state_->live_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  }

  bool operator==(managed_resource const&) const = default;

 private:
  struct state {
    state(on::device where, std::size_t budget) : place(where), budget_bytes(budget) {}
    on::device place;
    std::size_t budget_bytes;
    std::atomic<std::size_t> live_bytes{0};
  };
  std::shared_ptr<state> state_;
};

/// Managed memory, at most `max_bytes`. 0 stands for the card's free memory at `open`.
struct managed {
  std::size_t max_bytes = 0;

  static constexpr std::string_view name = "mr::managed";
  std::string describe() const {
    parameter_list all;
    if (max_bytes != 0) { all.show(describe_bytes(max_bytes)); }
    return all.after(name);
  }
  /// Throws `std::invalid_argument` when `max_bytes` is more than the card has free.
  managed_resource open(on::device place) const {
    require_device(place);
    device_guard const guard{place};
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (max_bytes > free_bytes) {
      throw std::invalid_argument("mr::managed: max_bytes " + describe_bytes(max_bytes) +
                                  " is more than the " + describe_bytes(free_bytes) +
                                  " that device " + std::to_string(place.id) + " has free");
    }
    return managed_resource{place, max_bytes == 0 ? free_bytes : max_bytes};
  }
  bool operator==(managed const&) const = default;
};

static_assert(memory_resource<managed_resource, ::cuda::stream_ref>);
static_assert(memory_policy<managed, on::device>);

}  // namespace assay::mr
