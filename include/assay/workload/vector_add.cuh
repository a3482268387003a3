// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::vector_add` on the device.
#pragma once

#include <assay/workload/element_wise.cuh>
#include <assay/workload/vector_add.hpp>

#include <cstdint>
#include <type_traits>

namespace assay {

namespace kernel {

/// x + y; integers wrap round.
template <class T>
struct add {
  __device__ T operator()(T const (&each)[2]) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<unsigned>(each[0]) + static_cast<unsigned>(each[1]));
    } else {
      return each[0] + each[1];
    }
  }
};

}  // namespace kernel

namespace workloads {

/// Enqueues the sum of `count` elements that the device reaches.
template <class Copy, class T>
void launch_elements(on::device place, ::cuda::stream_ref stream, Copy, vector_add<T> const&,
                     element_inputs<T, 2> const& inputs, T* out, std::int64_t count) {
  kernel::launch_map(place, stream, kernel::add<T>{}, inputs, out, count);
}

}  // namespace workloads
}  // namespace assay
