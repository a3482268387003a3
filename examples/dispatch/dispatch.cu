// SPDX-License-Identifier: Apache-2.0
#include "reduce_elements.cuh"
#include "tasks.hpp"

#include <assay/copy/cp_async.hpp>
#include <assay/core/device.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/workload/matmul.cuh>
#include <assay/workload/vector_add.cuh>

#include <cub/device/device_reduce.cuh>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

namespace assay::examples {

namespace {

on::device current_device() {
  on::device place;
  check(cudaGetDevice(&place.id));
  return place;
}

/// The memory for results of blocks. Each thread keeps one for each stream of a device, as cuBLAS
/// does.
struct workspace {
  static constexpr std::size_t bytes = std::size_t{1} << 20;
  struct ender {
    void operator()(void* old) const { (void)cudaFree(old); }
  };
  std::unique_ptr<void, ender> memory;
  std::unique_ptr<void, ender> arrived;  // 0 between kernels

  static workspace& of(cudaStream_t stream) {
    thread_local std::map<std::pair<int, cudaStream_t>, workspace> all;
    auto& mine = all[{current_device().id, stream}];
    if (mine.memory) { return mine; }
    void *made = nullptr, *zero = nullptr;
    check(cudaMalloc(&made, bytes));
    mine.memory.reset(made);
    check(cudaMalloc(&zero, sizeof(unsigned)));
    mine.arrived.reset(zero);
    check(cudaMemsetAsync(zero, 0, sizeof(unsigned), stream));
    return mine;
  }
};

}  // namespace

void vector_add::run(cudaStream_t stream, float const* a, float const* b, float* to) const {
  kernel::launch_map(current_device(), stream, kernel::add<float>{}, std::array{a, b}, to,
                     std::ssize(out));
}

template <>
void reduction<reducer::one_pass>::run(cudaStream_t stream, float const* from, moments* to) const {
  auto& space = workspace::of(stream);
  auto const count = std::ssize(x);
  auto const launch = [&]<int Width>(std::integral_constant<int, Width>) {
    auto const run = reduce_elements<Width>;
    auto const vectors = count / Width;
    auto const shape = kernel::stride_shape(
        run, current_device(), static_cast<std::uint64_t>(vectors / vectors_at_once + 1),
        reduce_threads);
    kernel::launch(run, shape, 0, stream, from, vectors, static_cast<int>(count % Width),
                   static_cast<moments*>(space.memory.get()),
                   static_cast<unsigned*>(space.arrived.get()), to);
  };
  if (reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
    launch(std::integral_constant<int, 4>{});
  } else {
    launch(std::integral_constant<int, 1>{});
  }
}

template <>
void reduction<reducer::cub>::run(cudaStream_t stream, float const* from, moments* to) const {
  auto bytes = workspace::bytes;
  check(cub::DeviceReduce::TransformReduce(workspace::of(stream).memory.get(), bytes, from, to,
                                           std::ssize(x), add_moments{}, to_moments{}, moments{},
                                           stream));
}

void multiply_by_tiles(cudaStream_t stream, product_shape of, float const* a, float const* b,
                       float* c) {
  auto const view = [](float const* first, std::size_t rows, std::size_t columns) {
    return copy::matrix_view<float>{first, static_cast<int>(rows), static_cast<int>(columns),
                                    static_cast<std::int64_t>(product_shape::pitch(columns))};
  };
  workloads::launch_matmul(
      current_device(), stream, copy::cp_async<2>{},
      workloads::matmul_inputs<float>{view(a, of.m, of.k), view(b, of.k, of.n), false}, c,
      static_cast<std::int64_t>(product_shape::pitch(of.n)));
}

}  // namespace assay::examples
