// SPDX-License-Identifier: Apache-2.0
/// @file
/// `transfer::staged`: pageable memory by way of page-locked buffers that several threads fill.
#pragma once

#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/engine.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::transfer {

/// As `transfer::pageable`, but pageable arrays cross by way of bounce buffers of the engine's own:
/// threads copy one piece while others are on the link, both ways. Arrays that the device reaches
/// itself are copied directly. 0 is picked; see `staging`. The buffers are made, and the threads
/// started, by the first job that needs them.
struct staged {
  int threads = 0;
  std::size_t buffer_bytes = staging{}.buffer_bytes;

  static constexpr std::string_view name = "transfer::staged";
  static constexpr auto wants = host_memory::pageable;
  static constexpr bool blocks_host = true;
  static constexpr bool capturable = false;

  std::string describe() const {
    parameter_list all;
    bounce().show(all);
    return all.after(name);
  }

  /// Throws `std::invalid_argument` for counts that make no sense.
  template <class Memory>
  engine<staged, cuda_link, Memory> open(on::device place, Memory memory) const {
    return {*this, cuda_link{place}, std::move(memory), bounce()};
  }
  staging bounce() const { return {threads, buffer_bytes}; }

  template <class Executor, class Compute>
  void execute(Executor& executor, typename Executor::stream_type stream, job<Compute> const& what,
               std::vector<host_array> const& arrays) const {
    if (any_pageable(arrays)) { refuse_capture(name, executor.link(), stream); }
    executor.run_whole(stream, what, arrays, true);
  }
  bool operator==(staged const&) const = default;
};
static_assert(transfer_policy<staged>);

}  // namespace assay::transfer
