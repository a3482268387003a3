// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parameters of the matmul experiment, and its half on a GPU.
#pragma once

#include <assay/cli/variants.hpp>

#include <cstdint>
#include <string>

namespace assay::examples {

/// The parameters of the experiment beside those that all experiments have.
struct matmul_parameters {
  std::int64_t size = 4096;
  int items = 20;
  std::string type = "bfloat16";
  std::uint64_t seed = 0;

  template <class Work>
  Work work() const {
    return {.m = size, .n = size, .k = size, .seed = seed};
  }
};

/// The variants on a GPU, one for each copy strategy, and the instruction that multiplies.
struct matmul_variants {
  cli::variants all;
  std::string instruction;
};

matmul_variants matmul_on_device(matmul_parameters const& given, on::device place);

}  // namespace assay::examples
