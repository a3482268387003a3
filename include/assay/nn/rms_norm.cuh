// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of RMSNorm with residual and of its gradient. `T` is the type of activations.
#pragma once

#include <assay/kernel/shared_memory.cuh>
#include <assay/nn/rms_norm.hpp>
#include <assay/nn/vectors.cuh>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace assay::nn {
namespace kernels {

/// One block for each row. A null branch is zero. The launch bound leaves 40 registers for a
/// thread, so that rows of 768 columns run all at once.
template <int Width, class T>
__global__ void __launch_bounds__(512, 3)
    rms_norm_rows(int width, float const* residual, T const* branch, float const* gain, float* sum,
                  float* inverse, T* out) {
  __shared__ float held[32];
  thread_columns<Width> const own{width};
  auto const row = static_cast<std::size_t>(blockIdx.x) * width;
  float squares = 0, x[Width], y[Width], g[Width] = {};
  if (own.last >= own.first) { load(gain + own.last, g); }  // before the stores, to wait once
  for (int c = own.first; c <= own.last; c += own.step) {
    load(residual + row + c, x);
    if (branch != nullptr) {
      load(branch + row + c, y);
      for (int i = 0; i < Width; ++i) { x[i] += y[i]; }
    }
    store(sum + row + c, x);
    for (float const each : x) { squares += each * each; }
  }
  squares = line_sum(squares, held);
  float const inverse_of_row = 1 / sqrtf(squares / width + static_cast<float>(rms_epsilon));
  if (threadIdx.x == 0) { inverse[blockIdx.x] = inverse_of_row; }
  for (int c = own.last; c >= own.first; c -= own.step) {
    if (c != own.last) {
      load(sum + row + c, x);  // what this thread wrote
      load(gain + c, g);
    }
    for (int i = 0; i < Width; ++i) { x[i] = x[i] * inverse_of_row * g[i]; }
    store(out + row + c, x);
  }
}

/// What the gradient of a norm reads. `before` is null where it is not added.
template <class T>
struct norm_gradient_sources {
  T const* out_gradient;
  float const *sum, *gain, *inverse, *before;
};

/// `Width` elements of what the gradient of a norm reads, in registers.
template <int Width>
struct norm_gradient_group {
  float d[Width], s[Width], g[Width], before[Width];

  /// Element `at` is the first, in column `c`.
  template <class T>
  __device__ void read(norm_gradient_sources<T> const& from, std::size_t at, int c) {
    load(from.out_gradient + at, d);
    load(from.sum + at, s);
    load(from.gain + c, g);
    if (from.before != nullptr) { load(from.before + at, before); }
  }
};

/// Adds up rows of shared memory, one that each line of threads of the block wrote.
inline __device__ void add_lines(int width, float const* rows, float* to) {
  int const threads = static_cast<int>(blockDim.x), lines = static_cast<int>(blockDim.y);
  __syncthreads();
  int const first = static_cast<int>(threadIdx.y) * threads + static_cast<int>(threadIdx.x);
  for (int c = first; c < width; c += threads * lines) {
    float sum = 0;
    for (int l = 0; l < lines; ++l) { sum += rows[l * width + c]; }
    to[c] = sum;
  }
}

/// Threads of a block at most, so that the registers of a multiprocessor hold two blocks.
template <int Width>
inline constexpr unsigned gradient_threads = Width > 4 ? 448 : 768;

/// The gradient of the sum, and a part of that of the gain: of `rows_of_block` rows in each block,
/// a row for each line of threads at a time. A null copy is not written. Several lines have `width`
/// elements of shared memory each, and a row then has at most one group for each thread.
template <int Width, class T>
__global__ void __launch_bounds__(gradient_threads<Width>, 2)
    rms_norm_gradient_rows(int rows, int rows_of_block, int width, norm_gradient_sources<T> from,
                           float* sum_gradient, T* copy, float* parts) {
  auto* const sums_of_lines = reinterpret_cast<float*>(kernel::dynamic_shared());
  __shared__ float held[2][32];
  thread_columns<Width> const own{width};
  int const lines = static_cast<int>(blockDim.y), line = static_cast<int>(threadIdx.y);
  int const begin = static_cast<int>(blockIdx.x) * rows_of_block;
  int const end = min(rows, begin + rows_of_block);
  float* const part = parts + static_cast<std::size_t>(blockIdx.x) * width;
  float* const own_part = lines == 1 ? part : sums_of_lines + line * width;
  norm_gradient_group<Width> group;
  float of_last[Width] = {};  // the sums in column `own.last`
  for (int r = begin + line, turn = 0; r - line < end; r += lines, turn ^= 1) {
    int const last = r < end ? own.last : -1;
    auto const row = static_cast<std::size_t>(r) * width;
    float inverse = r < end ? from.inverse[r] : 0, dot = 0;
    for (int c = own.first; c <= last; c += own.step) {
      group.read(from, row + c, c);
      for (int i = 0; i < Width; ++i) { dot += group.d[i] * group.g[i] * group.s[i]; }
    }
    float const along = line_sum(dot, held[turn]) * inverse * inverse / width;
    for (int c = last; c >= own.first; c -= own.step) {
      if (c != last) { group.read(from, row + c, c); }
      float to[Width], sums[Width] = {};
      if (c != last && r > begin) { load(own_part + c, sums); }
      for (int i = 0; i < Width; ++i) {
        float const of_gain = group.d[i] * group.s[i] * inverse;
        c == last ? of_last[i] += of_gain : sums[i] += of_gain;
        to[i] = inverse * (group.d[i] * group.g[i] - group.s[i] * along);
        if (from.before != nullptr) { to[i] = group.before[i] + to[i]; }
      }
      store(sum_gradient + row + c, to);
      if (copy != nullptr) { store(copy + row + c, to); }
      if (c != last) { store(own_part + c, sums); }
    }
  }
  if (own.last >= own.first) { store(own_part + own.last, of_last); }
  if (lines > 1) { add_lines(width, sums_of_lines, part); }
}

/// The sums of all parts of gains: a block has `Lines` warps for 32 times `Width` columns. Blocks
/// that begin together read whole rows of a gain.
template <int Lines, int Width>
__global__ void rms_norm_gain_gradient(gain_sums op, float const* all_parts, float* gradients) {
  constexpr int columns = 32 * Width;
  __shared__ float held[Lines][columns];
  auto const part_count = static_cast<int>(op.parts), width = static_cast<int>(op.width);
  int const blocks_of_gain = (width + columns - 1) / columns;
  auto const gain = std::size_t{blockIdx.x} / blocks_of_gain;
  float const* const parts = all_parts + gain * op.parts * op.width;
  // `gain_sums::place`, which is the host's.
  float* const gain_gradient = gradients + gain / 2 * op.stride + gain % 2 * op.second;
  int const begin = static_cast<int>(blockIdx.x % blocks_of_gain) * columns;
  int const line = static_cast<int>(threadIdx.y), own = static_cast<int>(threadIdx.x) * Width;
  float mine[Width] = {}, part[Width];
#pragma unroll 8
  for (int p = line; p < part_count && begin + own < width; p += Lines) {
    load(parts + static_cast<std::size_t>(p) * width + begin + own, part);
    for (int i = 0; i < Width; ++i) { mine[i] += part[i]; }
  }
  for (int i = 0; i < Width; ++i) { held[line][own + i] = mine[i]; }
  __syncthreads();
  int const c = line * 32 + static_cast<int>(threadIdx.x);
  if (c >= columns || begin + c >= width) { return; }
  float sum = 0;
  for (int i = 0; i < Lines; ++i) { sum += held[i][c]; }
  gain_gradient[begin + c] = sum;
}

}  // namespace kernels

template <class T>
void enqueue(::cuda::stream_ref stream, rms_norm const& op, in<float> residual, in<T> branch,
             in<float> gain, std::span<float> sum, std::span<float> inverse, std::span<T> out) {
  constexpr int full = full_width<T>;
  bool const wide = allows_width<full>(
      {op.width}, {residual.data(), branch.data(), gain.data(), sum.data(), out.data()});
  kernel::launch(wide ? kernels::rms_norm_rows<full, T> : kernels::rms_norm_rows<1, T>,
                 dim3(static_cast<unsigned>(op.rows)), threads_of_row(op.width / (wide ? full : 1)),
                 0, stream, static_cast<int>(op.width), residual.data(),
                 op.has_branch ? branch.data() : nullptr, gain.data(), sum.data(), inverse.data(),
                 out.data());
}

/// Enqueues the operation, in one launch.
inline void enqueue(::cuda::stream_ref stream, gain_sums const& op,
                    std::span<float const> all_parts, std::span<float> gradients) {
  constexpr int lines = 32, full = full_width<float>;
  bool const wide = allows_width<full>({op.width}, {all_parts.data()});
  auto const columns = std::size_t{32} * (wide ? full : 1);
  dim3 const grid(static_cast<unsigned>(op.gains * ((op.width + columns - 1) / columns)));
  kernel::launch(wide ? kernels::rms_norm_gain_gradient<lines, full>
                      : kernels::rms_norm_gain_gradient<lines, 1>,
                 grid, dim3(32, lines), 0, stream, op, all_parts.data(), gradients.data());
}

/// Enqueues the operation. A gradient in parts needs no scratch. For a gradient in one part,
/// `scratch` holds a row for each 8 rows of the operation where it has room. Throws
/// `std::invalid_argument` where it has no room for one row.
template <class T>
void enqueue(::cuda::stream_ref stream, rms_norm_gradient const& op, in<T> out_gradient,
             in<float> sum, in<float> gain, in<float> inverse, std::span<float> sum_gradient,
             std::span<float> gain_gradient, std::span<T> copy, std::span<float> scratch) {
  constexpr int full = full_width<T>;
  auto const parts = op.gain_in_parts ? gain_gradient : scratch;
  auto const room = parts.size() / op.width;
  if (room == 0 || (op.gain_in_parts && room != op.gain_parts())) {
    throw std::invalid_argument("rms_norm_gradient: the scratch or the parts have " +
                                std::to_string(parts.size()) + " elements, a row has " +
                                std::to_string(op.width) + ", and parts have " +
                                std::to_string(op.gain_parts()));
  }
  // More rows where the scratch has no room for so many parts.
  auto const rows_of_block = std::max(rows_of_gain_part, (op.rows + room - 1) / room);
  auto const count = (op.rows + rows_of_block - 1) / rows_of_block;
  bool const wide =
      allows_width<full>({op.width}, {out_gradient.data(), sum.data(), gain.data(),
                                      sum_gradient.data(), copy.data(), parts.data()});
  kernels::norm_gradient_sources<T> const from{out_gradient.data(), sum.data(), gain.data(),
                                               inverse.data(),
                                               op.accumulate ? sum_gradient.data() : nullptr};
  auto const launch = [&]<int Width>(std::integral_constant<int, Width>) {
    constexpr auto most = kernels::gradient_threads<Width>;
    auto const threads = threads_of_row(op.width / Width, most);
    auto const lines = std::min(std::bit_floor(most / threads), unsigned{rows_of_gain_part});
    kernel::launch(kernels::rms_norm_gradient_rows<Width, T>, dim3(static_cast<unsigned>(count)),
                   dim3(threads, lines), lines > 1 ? lines * op.width * sizeof(float) : 0, stream,
                   static_cast<int>(op.rows), static_cast<int>(rows_of_block),
                   static_cast<int>(op.width), from, sum_gradient.data(),
                   copy.empty() ? nullptr : copy.data(), parts.data());
  };
  if (!wide) {
    launch(std::integral_constant<int, 1>{});
  } else if (op.width <= 768) {  // short rows need more threads to have enough loads on their way
    launch(std::integral_constant<int, 4>{});
  } else {
    launch(std::integral_constant<int, full>{});
  }
  if (!op.gain_in_parts) { enqueue(stream, gain_sums{count, op.width}, parts, gain_gradient); }
}

}  // namespace assay::nn
