// SPDX-License-Identifier: Apache-2.0
/// @file
/// `transfer::pinned`: plain copies of page-locked memory.
#pragma once

#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/engine.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace assay::transfer {

/// One `cudaMemcpyAsync` for each array, one call of `compute`, one copy for each output, all in
/// the caller's stream: each direction at its full rate, and nothing at once. Refuses arrays that
/// are not page-locked.
struct pinned {
  static constexpr std::string_view name = "transfer::pinned";
  static constexpr auto wants = host_memory::page_locked;
  static constexpr bool blocks_host = false;
  static constexpr bool capturable = true;

  template <class Memory>
  engine<pinned, cuda_link, Memory> open(on::device place, Memory memory) const {
    return {*this, cuda_link{place}, std::move(memory)};
  }

  template <class Executor, class Compute>
  void execute(Executor& executor, typename Executor::stream_type stream, job<Compute> const& what,
               std::vector<host_array> const& arrays) const {
    require_page_locked(name, arrays);
    executor.run_whole(stream, what, arrays, false);
  }
  bool operator==(pinned const&) const = default;
};
static_assert(transfer_policy<pinned>);

}  // namespace assay::transfer
