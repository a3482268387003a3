// SPDX-License-Identifier: Apache-2.0
/// @file
/// The arrays of workloads in the memory of a device, or in host memory for transfers.
#pragma once

#include <assay/arrays/device_arrays.cuh>
#include <assay/copy/regular.hpp>
#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>
#include <assay/transfer/concepts.hpp>
#include <assay/workload/array_workload.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace assay::workloads {

/// Arrays in host memory of one kind, which begin at a page. A caller's own are used where they
/// are.
template <transfer::host_memory Kind>
class link_array_store final : public arrays::host_array_store {
 public:
  link_array_store() : host_array_store(0) {}
  bool takes_callers_memory() const noexcept override { return true; }

 private:
  std::byte* allocate_block(std::size_t bytes) override {
    bytes = std::max<std::size_t>(bytes, 1);
    if constexpr (Kind == transfer::host_memory::page_locked) {
      locked_.emplace_back(bytes);
      return static_cast<std::byte*>(locked_.back().get());
    } else {
      constexpr std::size_t page = 4096;
      pageable_.emplace_back(std::aligned_alloc(page, (bytes + page - 1) / page * page));
      if (pageable_.back() == nullptr) { throw std::bad_alloc{}; }
      return static_cast<std::byte*>(pageable_.back().get());
    }
  }
  bool begins_blocks() const noexcept override { return true; }

  struct freed {
    void operator()(void* old) const noexcept { std::free(old); }
  };
  std::vector<page_locked_block> locked_;
  std::vector<std::unique_ptr<void, freed>> pageable_;
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
  std::shared_ptr<resident_arrays> const made{new resident_arrays(where.place)};
  return prepared<on::device, Work>{where.place, work, lanes,
                                    std::shared_ptr<arrays::array_store>{made, &made->store}};
}
template <link_lane Lane, class Work>
auto prepare_on(by_arrays, Lane& where, Work const& work, int lanes) {
  device_guard const guard{where.place};
  std::shared_ptr<arrays::array_store> store{new link_array_store<Lane::transfer_type::wants>()};
  return prepared<on::device, Work>{where.place, work, lanes, std::move(store)};
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
