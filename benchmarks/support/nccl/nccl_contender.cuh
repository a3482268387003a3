// SPDX-License-Identifier: Apache-2.0
/// @file
/// NCCL as a contender, in a build that has it.
#pragma once

#include "../contender.cuh"
#include "nccl_ranks.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace assay::examples {

inline constexpr bool has_nccl = true;

/// The memory of NCCL's buffers: from cudaMalloc, as in most programs, or from NCCL as symmetric
/// windows.
enum class nccl_buffers { plain, windows };

/// NCCL over the devices of a team, with buffers of its own.
template <class T>
std::optional<contender<T>> nccl_contender(examples::rank_threads& team, std::size_t count,
                                           std::uint64_t seed, nccl_buffers how) {
  bool const windows = how == nccl_buffers::windows;
  auto const engine = std::make_shared<nccl_ranks>(team.places());
  auto const bytes = rank_arrays<T>::bytes(count);
  auto const arrays_in = [&](auto memory) {
    return std::make_shared<rank_arrays<T>>(team, count, seed, engine->ranks(), memory);
  };
  int version = 0;  // 22803 is 2.28.3
  comm::check_nccl(ncclGetVersion(&version), "ncclGetVersion");
  auto const name = "NCCL " + std::to_string(version / 10000) + '.' +
                    std::to_string(version / 100 % 100) + '.' + std::to_string(version % 100);
  return make_contender<T>(name + (windows ? " symmetric windows" : " default"), engine,
                           windows
                               ? arrays_in(std::make_shared<nccl_windows>(engine, bytes))
                               : arrays_in(std::make_shared<rank_memory>(team.places(), bytes)));
}

}  // namespace assay::examples
