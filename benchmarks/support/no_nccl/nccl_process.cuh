// SPDX-License-Identifier: Apache-2.0
/// @file
/// Stands where `nccl/nccl_process.cuh` does in a build without NCCL.
#pragma once

#include "../contender.cuh"

#include <assay/world/world.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace assay::examples {

class nccl_process {
 public:
  nccl_process(world const&, std::size_t, std::uint64_t) {
    throw std::invalid_argument("this build has no NCCL, so it is no rank of a job");
  }
  std::vector<double> seconds(std::size_t, int, sampling) { return {}; }
};

}  // namespace assay::examples
