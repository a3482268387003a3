// SPDX-License-Identifier: Apache-2.0
/// @file
/// The arrays of workloads in the memory of a device, or in host memory for transfers.
#pragma once

#include <assay/arrays/device_arrays.cuh>
#include <assay/copy/regular.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/transfer/concepts.hpp>
#include <assay/workload/array_workload.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace assay::workloads {

/// An array in host memory of the kind that a transfer wants; it begins at a page.
template <class T>
class host_array {
 public:
  host_array(std::size_t count, transfer::host_memory kind)
      : memory_(allocate(std::max<std::size_t>(count, 1) * sizeof(T), kind),
                deleter{kind == transfer::host_memory::page_locked}) {}

  T* get() const noexcept { return static_cast<T*>(memory_.get()); }

 private:
  struct deleter {
    bool page_locked = false;
    void operator()(void* old) const noexcept {
      if (page_locked) {
        nvtx_range const here{"host_array deallocate", category::allocation};
        check_noexcept(cudaFreeHost(old));
      } else {
        std::free(old);
      }
    }
  };

  static void* allocate(std::size_t bytes, transfer::host_memory kind) {
    constexpr std::size_t page = 4096;
    void* block = nullptr;
    if (kind == transfer::host_memory::page_locked) {
      nvtx_range const here{"host_array allocate", category::allocation, bytes};
      check(cudaHostAlloc(&block, bytes, cudaHostAllocPortable));
    } else {
      block = std::aligned_alloc(page, (bytes + page - 1) / page * page);
      if (block == nullptr) { throw std::bad_alloc{}; }
    }
    return block;
  }

  std::unique_ptr<void, deleter> memory_;
};

/// Arrays in host memory of one kind; a caller's own are used where they are.
template <transfer::host_memory Kind>
class link_array_store final : public arrays::host_array_store {
 public:
  link_array_store() : host_array_store(0) {}
  bool takes_callers_memory() const noexcept override { return true; }

 private:
  std::byte* allocate_block(std::size_t bytes) override {
    blocks_.emplace_back(bytes, Kind);
    return blocks_.back().get();
  }
  bool begins_blocks() const noexcept override { return true; }

  std::vector<host_array<std::byte>> blocks_;
};

/// Device memory with a stream of its own: a state can outlive the lane that it was made on.
struct resident_arrays {
  explicit resident_arrays(on::device place)
      : own(place), store(place, own, detail::next_placement_seed()) {}

  stream own;
  arrays::device_array_store store;
};

template <device_lane Lane, class Work>
auto prepare_on(by_arrays, Lane& where, Work const& work, int lanes) {
  device_guard const guard{where.place};
  auto const made = std::make_shared<resident_arrays>(where.place);
  return prepared<on::device, Work>{where.place, work, lanes,
                                    std::shared_ptr<arrays::array_store>{made, &made->store}};
}
template <link_lane Lane, class Work>
auto prepare_on(by_arrays, Lane& where, Work const& work, int lanes) {
  device_guard const guard{where.place};
  return prepared<on::device, Work>{
      where.place, work, lanes, std::make_shared<link_array_store<Lane::transfer_type::wants>>()};
}

/// The copy strategy of a lane; lanes of workloads that take none have none.
template <device_lane Lane>
auto copy_of(Lane const& where) {
  if constexpr (requires { where.copy; }) {
    return where.copy;
  } else {
    return no_copy{};
  }
}

}  // namespace assay::workloads
