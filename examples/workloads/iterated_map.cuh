// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::iterated_map` on the device.
#pragma once

#include "iterated_map.hpp"

#include <assay/workload/element_wise.cuh>

#include <cstdint>

namespace assay {

namespace kernel {

/// x -> factor * x + offset, `steps` times, each as one fused instruction.
template <class T>
struct iterate {
  T factor;
  T offset;
  int steps;

  __device__ T operator()(T const (&each)[1]) const {
    T value = each[0];
#pragma unroll 8  // so that the loop itself costs a fraction of an instruction a step
    for (int k = 0; k < steps; ++k) { value = factor * value + offset; }
    return value;
  }
};

}  // namespace kernel

namespace workloads {

/// Enqueues the map of `count` elements that the device reaches.
template <class Copy, class T>
void launch_elements(on::device place, ::cuda::stream_ref stream, Copy, iterated_map<T> const& work,
                     element_inputs<T, 1> const& inputs, T* out, std::int64_t count) {
  auto const step = work.step();
  kernel::launch_map(place, stream, kernel::iterate<T>{step.factor, step.offset, work.steps()},
                     inputs, out, count);
}

}  // namespace workloads
}  // namespace assay
