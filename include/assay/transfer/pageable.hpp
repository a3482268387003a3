// SPDX-License-Identifier: Apache-2.0
/// @file
/// `transfer::pageable`: plain copies of whatever memory there is.
#pragma once

#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/engine.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace assay::transfer {

/// One `cudaMemcpyAsync` for each array, one call of `compute`, one copy for each output, all in
/// the caller's stream. Pageable arrays are staged by the driver, while the host waits.
struct pageable {
  static constexpr std::string_view name = "transfer::pageable";
  static constexpr auto wants = host_memory::pageable;
  static constexpr bool blocks_host = true;
  static constexpr bool capturable = false;

  template <class Memory>
  engine<pageable, cuda_link, Memory> open(on::device place, Memory memory) const {
    return {*this, cuda_link{place}, std::move(memory)};
  }

  template <class Executor, class Compute>
  void execute(Executor& executor, typename Executor::stream_type stream, job<Compute> const& what,
               std::vector<host_array> const& arrays) const {
    refuse_capture(name, executor.link(), stream);
    executor.run_whole(stream, what, arrays, false);
  }
  bool operator==(pageable const&) const = default;
};
static_assert(transfer_policy<pageable>);

}  // namespace assay::transfer
