// SPDX-License-Identifier: Apache-2.0
/// @file
/// Stands where `support/nccl/nccl_contenders.cuh` does in a build without NCCL.
#pragma once

#include "../contender.cuh"

#include <assay/comm/process_rank.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace assay::examples {

inline constexpr bool has_nccl = false;

enum class nccl_buffers { plain, windows };

template <class T>
std::optional<contender<T>> nccl_contender(comm::rank_threads&, std::size_t, std::uint64_t,
                                           nccl_buffers) {
  return std::nullopt;
}

/// Refuses: several processes reduce by NCCL.
class nccl_process {
 public:
  nccl_process(comm::process_rank const& me, nccl_buffers) {
    throw std::invalid_argument(me.launcher + " started this program as rank " +
                                std::to_string(me.rank) + " of " + std::to_string(me.ranks) +
                                ", and it was built without NCCL, by which processes reduce: build "
                                "it with NCCL 2.27 or newer, or start it alone");
  }

  on::device place() const { return {}; }
  template <class T>
  contender<T> contend(comm::rank_threads&, std::size_t, std::uint64_t) {
    return {};
  }
  double over_all(comm::rank_threads&, double value, comm::reduction) { return value; }
};

}  // namespace assay::examples
