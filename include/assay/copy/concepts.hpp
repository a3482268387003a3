// SPDX-License-Identifier: Apache-2.0
/// @file
/// The concept of a copy strategy; `copy/concepts.cuh` has its device side.
#pragma once

#include <assay/core/policy.hpp>

#include <concepts>
#include <stdexcept>
#include <string>

namespace assay {

/// A choice on the copy axis: how a kernel brings a tile into its block.
///
/// `stages` tiles can be on their way or in use at once. `capability` is the least compute
/// capability, times ten, of a device that has its instructions.
template <class P>
concept copy_strategy = policy<P> && requires {
  { P::stages } -> std::convertible_to<int>;
  { P::capability } -> std::convertible_to<int>;
};

/// A workload whose kernels take a copy strategy on the device. It declares
/// `static constexpr bool takes_copy = true` and finds the strategy in `lane.copy`. A workload may
/// have `require_on(place, work, strategy)`; an exception from it keeps a rig from being made.
template <class W>
concept takes_copy_strategy = requires { requires W::takes_copy; };

namespace copy {

/// A compute capability as text: "9.0" for 90.
inline std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

/// Throws `std::invalid_argument`, with the strategy, the need and the device's capability, unless
/// a device of compute capability `found` (times ten) has the instructions of `strategy`.
template <copy_strategy Strategy>
void require_capability(Strategy strategy, int found, std::string const& where) {
  if (found >= Strategy::capability) { return; }
  throw std::invalid_argument(describe(strategy) + " needs a device of compute capability " +
                              capability_text(Strategy::capability) + " or higher, and " + where +
                              " has " + capability_text(found) +
                              ": use copy::regular, which runs everywhere");
}

/// Throws `std::invalid_argument`, with `what` and both capabilities, where the code that was
/// `built` is for a lower compute capability (times ten) than `needed`.
inline void require_built_for(std::string const& what, int needed, int built) {
  if (built >= needed) { return; }
  throw std::invalid_argument(
      what + " needs code for compute capability " + capability_text(needed) +
      " or higher, and this program was built for " + capability_text(built) +
      ": build it for the device (CMAKE_CUDA_ARCHITECTURES=native, nvcc -arch=native)");
}

}  // namespace copy
}  // namespace assay
