// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of RMSNorm with residual and of its gradient. `T` is the type of activations.
#pragma once

#include <assay/nn/rms_norm.hpp>
#include <assay/nn/vectors.cuh>

#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace assay::nn {
namespace kernels {

/// One block for each row. A null branch is zero.
template <int Threads, int Width, class T, class Gain>
__global__ void rms_norm_rows(int width, float const* residual, T const* branch, Gain gain,
                              float* sum, float* inverse, T* out) {
  using reduce = cub::BlockReduce<float, Threads>;
  __shared__ typename reduce::TempStorage held;
  __shared__ float inverse_of_row;
  auto const first = static_cast<std::size_t>(blockIdx.x) * width;
  float squares = 0, x[Width], y[Width];
  for (int c = threadIdx.x * Width; c < width; c += Threads * Width) {
    load(residual + first + c, x);
    if (branch != nullptr) {
      load(branch + first + c, y);
      for (int i = 0; i < Width; ++i) { x[i] += y[i]; }
    }
    store(sum + first + c, x);
    for (float const each : x) { squares += each * each; }
  }
  float const total = reduce{held}.Sum(squares);
  if (threadIdx.x == 0) {
    inverse_of_row = 1 / sqrtf(total / width + static_cast<float>(rms_epsilon));
    inverse[blockIdx.x] = inverse_of_row;
  }
  __syncthreads();
  for (int c = threadIdx.x * Width; c < width; c += Threads * Width) {
    load(sum + first + c, x);  // what this thread wrote
    load(gain + c, y);
    for (int i = 0; i < Width; ++i) { x[i] = x[i] * inverse_of_row * y[i]; }
    store(out + first + c, x);
  }
}

/// The gradient of the sum in one row, by one warp. A null copy is not written.
template <int Width, class T, class Gain>
__device__ void norm_row_gradient(std::size_t first, int width, bool accumulate,
                                  T const* out_gradient, float const* sum, Gain gain, float inverse,
                                  float* sum_gradient, T* copy) {
  int const lane = static_cast<int>(threadIdx.x % 32);
  float products = 0, d[Width], s[Width], g[Width], before[Width];
  for (int c = lane * Width; c < width; c += 32 * Width) {
    load(out_gradient + first + c, d);
    load(sum + first + c, s);
    load(gain + c, g);
    for (int i = 0; i < Width; ++i) { products += d[i] * g[i] * s[i]; }
  }
  float const along = warp_sum(products) * inverse * inverse / width;
  for (int c = lane * Width; c < width; c += 32 * Width) {
    auto const at = first + c;
    load(out_gradient + at, d);
    load(sum + at, s);
    load(gain + c, g);
    for (int i = 0; i < Width; ++i) { d[i] = inverse * (d[i] * g[i] - s[i] * along); }
    if (accumulate) {
      load(sum_gradient + at, before);
      for (int i = 0; i < Width; ++i) { d[i] = before[i] + d[i]; }
    }
    store(sum_gradient + at, d);
    if (copy != nullptr) { store(copy + at, d); }
  }
}

/// The gradient of the sum, and a part of that of the gain: of `rows_of_block` rows in each block.
/// The second half reads again what the first left in the cache of the multiprocessor.
template <int Threads, int Width, class T, class Gain>
__global__ void rms_norm_gradient_rows(int rows, int rows_of_block, int width, bool accumulate,
                                       T const* out_gradient, float const* sum, Gain gain,
                                       float const* inverse, float* sum_gradient, T* copy,
                                       float* parts) {
  int const begin = static_cast<int>(blockIdx.x) * rows_of_block;
  int const end = min(rows, begin + rows_of_block);
  for (int r = begin + static_cast<int>(threadIdx.x) / 32; r < end; r += Threads / 32) {
    norm_row_gradient<Width>(static_cast<std::size_t>(r) * width, width, accumulate, out_gradient,
                             sum, gain, inverse[r], sum_gradient, copy);
  }
  constexpr int narrow = Width < 4 ? Width : 4;  // so that most threads have a column
  for (int c = static_cast<int>(threadIdx.x) * narrow; c < width; c += Threads * narrow) {
    float mine[narrow] = {}, d[narrow], s[narrow];
    for (int r = begin; r < end; ++r) {
      auto const at = static_cast<std::size_t>(r) * width + c;
      load(out_gradient + at, d);
      load(sum + at, s);
      float const inverse_of_row = inverse[r];
      for (int i = 0; i < narrow; ++i) { mine[i] += d[i] * s[i] * inverse_of_row; }
    }
    store(parts + static_cast<std::size_t>(blockIdx.x) * width + c, mine);
  }
}

/// The sums of all parts of gains: a block of `Side` x `Side` threads, a warp in each line, for as
/// many columns. Blocks that begin together read whole rows of a gain.
template <int Side>
__global__ void rms_norm_gain_gradient(gain_sums op, float const* all_parts, float* gradients) {
  auto const part_count = static_cast<int>(op.parts), width = static_cast<int>(op.width);
  int const blocks_of_gain = (width + Side - 1) / Side;
  auto const gain = std::size_t{blockIdx.x} / blocks_of_gain;
  float const* const parts = all_parts + gain * op.parts * op.width;
  // `gain_sums::place`, which is the host's.
  float* const gain_gradient = gradients + gain / 2 * op.stride + gain % 2 * op.second;
  static_assert(Side == 32, "a warp adds what the lines hold for a column");
  __shared__ float held[Side][Side + 1];
  int const line = static_cast<int>(threadIdx.y), lane = static_cast<int>(threadIdx.x);
  int const begin = static_cast<int>(blockIdx.x % blocks_of_gain) * Side;
  float mine = 0;
#pragma unroll 8
  for (int p = line; p < part_count && begin + lane < width; p += Side) {
    mine += parts[static_cast<std::size_t>(p) * width + begin + lane];
  }
  held[line][lane] = mine;
  __syncthreads();
  float const sum = warp_sum(held[lane][line]);
  if (lane == 0 && begin + line < width) { gain_gradient[begin + line] = sum; }
}

}  // namespace kernels

/// Enqueues the operation. The gain has floats, or floats in two halves.
template <class T, class Gain>
void enqueue(::cuda::stream_ref stream, rms_norm const& op, in<float> residual, in<T> branch,
             Gain const& gain, std::span<float> sum, std::span<float> inverse, std::span<T> out) {
  constexpr int threads = 128, full = full_width<T>;
  auto const [begin, other] = arrays_of(gain);
  auto const from = kernels::begin_of(gain);
  using pointer = std::remove_const_t<decltype(from)>;
  kernel::launch(
      allows_width<full>({op.width},
                         {residual.data(), branch.data(), begin, other, sum.data(), out.data()})
          ? kernels::rms_norm_rows<threads, full, T, pointer>
          : kernels::rms_norm_rows<threads, 1, T, pointer>,
      dim3(static_cast<unsigned>(op.rows)), threads, 0, stream, static_cast<int>(op.width),
      residual.data(), op.has_branch ? branch.data() : nullptr, from, sum.data(), inverse.data(),
      out.data());
}

/// Enqueues the operation, in one launch.
inline void enqueue(::cuda::stream_ref stream, gain_sums const& op,
                    std::span<float const> all_parts, std::span<float> gradients) {
  dim3 const grid(static_cast<unsigned>(op.gains * ((op.width + 31) / 32)));
  kernel::launch(kernels::rms_norm_gain_gradient<32>, grid, dim3(32, 32), 0, stream, op,
                 all_parts.data(), gradients.data());
}

/// Enqueues the operation. A gradient in parts needs no scratch. For a gradient in one part,
/// `scratch` holds a row for each 8 rows of the operation where it has room. Throws
/// `std::invalid_argument` where it has no room for one row.
template <class T, class Gain>
void enqueue(::cuda::stream_ref stream, rms_norm_gradient const& op, in<T> out_gradient,
             in<float> sum, Gain const& gain, in<float> inverse, std::span<float> sum_gradient,
             std::span<float> gain_gradient, std::span<T> copy, std::span<float> scratch) {
  constexpr int threads = 256, full = full_width<T>;
  static_assert(rows_of_gain_part == threads / 32, "a row for each warp");
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
  auto const [begin, other] = arrays_of(gain);
  bool const wide =
      allows_width<full>({op.width}, {out_gradient.data(), sum.data(), begin, other,
                                      sum_gradient.data(), copy.data(), parts.data()});
  auto const from = kernels::begin_of(gain);
  using pointer = std::remove_const_t<decltype(from)>;
  kernel::launch(wide ? kernels::rms_norm_gradient_rows<threads, full, T, pointer>
                      : kernels::rms_norm_gradient_rows<threads, 1, T, pointer>,
                 dim3(static_cast<unsigned>(count)), threads, 0, stream, static_cast<int>(op.rows),
                 static_cast<int>(rows_of_block), static_cast<int>(op.width), op.accumulate,
                 out_gradient.data(), sum.data(), from, inverse.data(), sum_gradient.data(),
                 copy.empty() ? nullptr : copy.data(), parts.data());
  if (!op.gain_in_parts) { enqueue(stream, gain_sums{count, op.width}, parts, gain_gradient); }
}

}  // namespace assay::nn
