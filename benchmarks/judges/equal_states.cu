// SPDX-License-Identifier: Apache-2.0
// Nine states of two benchmarks of nvbench, for nvbench_equal.py: copies of 1 to 256 MiB in each
// direction, and sums of 64 MiB by few and by many blocks.

#include <nvbench/nvbench.cuh>

#include <thrust/device_vector.h>

#include <vector>

namespace {

__global__ void copy_elements(float const* from, float* to, nvbench::int64_t n) {
  auto const stride = nvbench::int64_t{gridDim.x} * blockDim.x;
  for (auto i = nvbench::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    to[i] = from[i];
  }
}

template <class T>
__global__ void sum_by_thread(T const* from, T* sums, nvbench::int64_t n) {
  auto const stride = nvbench::int64_t{gridDim.x} * blockDim.x;
  auto const first = nvbench::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  T sum = 0;
  for (auto i = first; i < n; i += stride) { sum += from[i]; }
  sums[first] = sum;
}

constexpr int threads = 256;

void copy(nvbench::state& state) {
  auto const n = state.get_int64("N");
  thrust::device_vector<float> const from(static_cast<std::size_t>(n), 1.0F);
  thrust::device_vector<float> to(from.size());
  auto const blocks = static_cast<unsigned>((n + threads - 1) / threads);
  state.add_global_memory_reads<float>(from.size());
  state.add_global_memory_writes<float>(from.size());
  state.exec([&](nvbench::launch& each) {
    copy_elements<<<blocks, threads, 0, each.get_stream()>>>(
        thrust::raw_pointer_cast(from.data()), thrust::raw_pointer_cast(to.data()), n);
  });
}

template <class T>
void reduce(nvbench::state& state, nvbench::type_list<T>) {
  auto const blocks = static_cast<unsigned>(state.get_int64("blocks"));
  thrust::device_vector<T> const from((64U << 20U) / sizeof(T), T{1});
  thrust::device_vector<T> sums(std::size_t{blocks} * threads);
  state.add_global_memory_reads<T>(from.size());
  state.exec([&](nvbench::launch& each) {
    sum_by_thread<T><<<blocks, threads, 0, each.get_stream()>>>(
        thrust::raw_pointer_cast(from.data()), thrust::raw_pointer_cast(sums.data()),
        static_cast<nvbench::int64_t>(from.size()));
  });
}

NVBENCH_BENCH(copy).add_int64_power_of_two_axis("N", nvbench::range(18, 26, 2));
using element_types = nvbench::type_list<nvbench::float32_t, nvbench::float64_t>;
NVBENCH_BENCH_TYPES(reduce, NVBENCH_TYPE_AXES(element_types))
    .set_type_axes_names({"T"})
    .add_int64_axis("blocks", {264, 1056});

}  // namespace
