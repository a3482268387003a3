// SPDX-License-Identifier: Apache-2.0
/// @file
/// `copy::bulk`: copies by the tensor memory accelerator. `copy/bulk.cuh` has what kernels use.
#pragma once

#include <assay/copy/concepts.hpp>

#include <string>
#include <string_view>

namespace assay::copy {

/// One thread starts a copy of a whole tile from global to shared memory (TMA, UBLKCP), which
/// completes on a barrier in shared memory; `Stages` tiles at once. From compute capability 9.0.
template <int Stages = 4>
struct bulk {
  static_assert(Stages >= 1 && Stages <= 16, "copy::bulk keeps 1 to 16 stages apart");
  static constexpr std::string_view name = "copy::bulk";
  static constexpr int stages = Stages;
  static constexpr int capability = 90;

  std::string describe() const { return std::string{name} + '<' + std::to_string(Stages) + '>'; }
  bool operator==(bulk const&) const = default;
};
static_assert(copy_strategy<bulk<>>);

}  // namespace assay::copy
