// SPDX-License-Identifier: Apache-2.0
#include "../workloads/matmul.cuh"
#include "moments.cuh"
#include "tasks.hpp"

#include <assay/copy/cp_async.hpp>
#include <assay/core/device.hpp>
#include <assay/workload/vector_add.cuh>

#include <cub/device/device_reduce.cuh>

#include <array>
#include <iterator>

namespace assay::examples {

void vector_add::run(cudaStream_t stream, float const* a, float const* b, float* to) const {
  kernel::launch_map(current_device(), stream, kernel::add<float>{}, std::array{a, b}, to,
                     std::ssize(out));
}

template <>
void reduction<reducer::one_pass>::run(cudaStream_t stream, float const* from, moments* to) const {
  launch_moments(current_device(), stream, from, std::ssize(x), to);
}

template <>
void reduction<reducer::cub>::run(cudaStream_t stream, float const* from, moments* to) const {
  auto bytes = moments_workspace::bytes;
  auto* const memory = moments_workspace::of(current_device(), stream).memory.get();
  check(cub::DeviceReduce::TransformReduce(memory, bytes, from, to, std::ssize(x), add_moments{},
                                           to_moments{}, moments{}, stream));
}

void multiply_by_tiles(cudaStream_t stream, product_shape of, float const* a,
                       float const* b, float* c) {
  workloads::launch_matmul(current_device(), stream, copy::cp_async<2>{},
                           workloads::matmul_inputs<float>{of.view_of_a(a), of.view_of_b(b), false},
                           c, static_cast<std::int64_t>(of.pitch(of.n)));
}

}  // namespace assay::examples
