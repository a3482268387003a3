// SPDX-License-Identifier: Apache-2.0
/// @file
/// `copy::cp_async`: asynchronous copies by the threads. `copy/cp_async.cuh` has what kernels use.
#pragma once

#include <assay/copy/concepts.hpp>

#include <string>
#include <string_view>

namespace assay::copy {

/// Each thread starts copies of 16 bytes from global to shared memory (LDGSTS), which pass no
/// register; `Stages` tiles at once, so that 2 is a double buffer. From compute capability 8.0.
template <int Stages = 2>
struct cp_async {
  static_assert(Stages >= 1 && Stages <= 8, "copy::cp_async keeps 1 to 8 stages apart");
  static constexpr std::string_view name = "copy::cp_async";
  static constexpr int stages = Stages;
  static constexpr int capability = 80;

  std::string describe() const { return std::string{name} + '<' + std::to_string(Stages) + '>'; }
  bool operator==(cp_async const&) const = default;
};
static_assert(copy_strategy<cp_async<>>);

}  // namespace assay::copy
