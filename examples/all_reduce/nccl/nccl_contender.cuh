// SPDX-License-Identifier: Apache-2.0
/// @file
/// NCCL as a contender, in a build that has it.
#pragma once

#include "../contender.cuh"

#include <assay/comm/nccl.hpp>

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
std::optional<contender<T>> nccl_contender(comm::rank_threads& team, std::size_t count,
                                           std::uint64_t seed, nccl_buffers how) {
  bool const windows = how == nccl_buffers::windows;
  comm::nccl_options options;
  options.symmetric = windows;
  auto const engine = std::make_shared<comm::nccl>(team.places(), options);
  auto const bytes = comm::rank_arrays<T>::bytes(count);
  auto const arrays_in = [&](auto memory) {
    return std::make_shared<comm::rank_arrays<T>>(team, count, seed, engine->ranks(), 0, memory);
  };
  int const version = comm::nccl_version();
  auto const name = "NCCL " + std::to_string(version / 10000) + '.' +
                    std::to_string(version / 100 % 100) + '.' + std::to_string(version % 100);
  return make_contender<T>(
      name + (windows ? " symmetric windows" : " default"), engine,
      windows ? arrays_in(std::make_shared<comm::nccl_memory>(engine->allocate(bytes)))
              : arrays_in(std::make_shared<comm::rank_memory>(team.places(), bytes)));
}

}  // namespace assay::examples
