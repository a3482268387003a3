// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::scale_add` on the device.
#pragma once

#include "capped_grid.cuh"
#include "scale_add.hpp"

#include <assay/copy/bulk.cuh>
#include <assay/copy/cp_async.cuh>
#include <assay/copy/regular.cuh>
#include <assay/workload/element_wise.cuh>

#include <array>
#include <cstdint>
#include <type_traits>

namespace assay {

namespace kernel {

/// Four floats or two doubles of a vector.
template <class T>
struct alignas(16) vector_of {
  T at[16 / sizeof(T)];
};

/// The vectors of each of the two inputs that a thread brings in at a time.
template <class Strategy>
__host__ __device__ constexpr int vectors_of_each_input() {
  constexpr int half = copy::vectors_per_thread<Strategy>() / 2;
  return half > 0 ? half : 1;
}

/// A tile is a run of `x` and the same run of `y`; a thread has half its vectors of each.
template <class Strategy, int Threads, class T>
__global__ __launch_bounds__(Threads) void scale_and_add(T scale, uint4 const* x, uint4 const* y,
                                                         uint4* out, std::int64_t count) {
  constexpr int each = vectors_of_each_input<Strategy>();
  constexpr int run = Threads * each;
  copy::vectors<Strategy, copy::block<Threads>, 2 * each> tiles{dynamic_shared()};
  auto const first = [](int i) { return (blockIdx.x + std::int64_t{gridDim.x} * i) * run; };
  auto const size = [&](int i) {
    auto const left = count - first(i);
    return left < run ? static_cast<int>(left) : run;
  };
  copy::walk(
      tiles, tiles_of((count + run - 1) / run, blockIdx.x, gridDim.x),
      [&](int i) {
        tiles.load_rows(i, 2, size(i), run, [&](int r) { return (r == 0 ? x : y) + first(i); });
      },
      [&](int i) {
#pragma unroll
        for (int k = 0; k < each; ++k) {
          int const at = k * Threads + static_cast<int>(threadIdx.x);
          if (at >= size(i)) { continue; }
          auto const a = __builtin_bit_cast(vector_of<T>, tiles.get(i, k));
          auto sum = __builtin_bit_cast(vector_of<T>, tiles.get(i, each + k));
#pragma unroll
          for (int j = 0; j < static_cast<int>(16 / sizeof(T)); ++j) {
            sum.at[j] = fma(scale, a.at[j], sum.at[j]);
          }
          out[first(i) + at] = __builtin_bit_cast(uint4, sum);
        }
      });
}

/// The kernel for so many threads, `std::integral_constant<int, Threads>`; it takes vectors.
template <class Strategy, class T, int Threads>
auto scale_add_kernel(std::integral_constant<int, Threads>) {
  constexpr int each = vectors_of_each_input<Strategy>();
  return tile_kernel{scale_and_add<Strategy, Threads, T>, Threads,
                     copy::vectors<Strategy, copy::block<Threads>, 2 * each>::storage_bytes,
                     Threads * each};
}

/// The same for a few elements, one by one.
template <class T>
__global__ void scale_and_add_singly(T scale, T const* x, T const* y, T* out, std::int64_t count) {
  for (auto const i : grid_stride(count)) { out[i] = fma(scale, x[i], y[i]); }
}

/// Enqueues out[i] = scale * x[i] + y[i]: by vectors where all are aligned to 16 bytes, the
/// elements after the last vector and all others singly.
template <class Strategy, class T>
void launch_scale_add(on::device place, ::cuda::stream_ref stream, T scale,
                      std::array<T const*, 2> const& in, T* out, std::int64_t count, int max_sms,
                      int threads) {
  constexpr auto width = static_cast<std::int64_t>(16 / sizeof(T));
  auto const bits = reinterpret_cast<std::uintptr_t>(in[0]) |
                    reinterpret_cast<std::uintptr_t>(in[1]) | reinterpret_cast<std::uintptr_t>(out);
  auto const vectors = bits % 16 == 0 ? count / width : 0;
  if (vectors > 0) {
    with_threads(threads, [&](auto constant) {
      launch_tiles<Strategy>(scale_add_kernel<Strategy, T>(constant), {place, stream, max_sms},
                             vectors, scale, reinterpret_cast<uint4 const*>(in[0]),
                             reinterpret_cast<uint4 const*>(in[1]), reinterpret_cast<uint4*>(out),
                             vectors);
    });
  }
  auto const done = vectors * width;
  if (done == count) { return; }
  auto const rest = scale_and_add_singly<T>;
  launch(rest, stride_shape(rest, place, static_cast<std::uint64_t>(count - done), 256), 0, stream,
         scale, in[0] + done, in[1] + done, out + done, count - done);
}

}  // namespace kernel

namespace workloads {

/// Enqueues the scaled sum of `count` elements that the device reaches.
template <class Copy, class T>
void launch_elements(on::device place, ::cuda::stream_ref stream, Copy, scale_add<T> const& work,
                     element_inputs<T, 2> const& inputs, T* out, std::int64_t count) {
  kernel::launch_scale_add<Copy>(place, stream, work.scale, inputs, out, count, work.max_sms,
                                 work.threads);
}

/// Throws `std::invalid_argument` that says why, unless the workload can run so on a device.
template <class T, copy_strategy Strategy>
void require_on(on::device place, scale_add<T> const& work, Strategy) {
  kernel::with_threads(work.threads, [&](auto constant) {
    kernel::require_tiles<Strategy>(kernel::scale_add_kernel<Strategy, T>(constant), place);
  });
}

}  // namespace workloads
}  // namespace assay
