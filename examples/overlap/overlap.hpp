// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parameters of the overlap experiment, and its variants on a GPU.
#pragma once

#include <assay/cli/variants.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace assay::examples {

/// The parameters of the experiment beside those that all experiments have.
struct overlap_parameters {
  std::vector<std::string> sizes;  ///< each way, as on a command line, in ascending order
  int flops = 2;                   ///< for each element of 4 bytes
};

/// The transfers at one size, the fastest of large jobs first. A batch is one job, as a hundred
/// jobs over pageable memory would take minutes.
cli::variants overlap_on_device(overlap_parameters const& given, on::device place,
                                std::size_t bytes);

}  // namespace assay::examples
