// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels as they are written first, each right and with one bug. Blocks have 256 threads where
/// nothing else is said.
#pragma once

#include <cuda_fp16.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace assay::benchmark::seeded {

using std::size_t;

__device__ inline size_t index() { return blockIdx.x * size_t{blockDim.x} + threadIdx.x; }

// Tails.

template <bool Bug>
__global__ void scale_in_fours(size_t n, float const* x, float* y) {
  auto const first = 4 * index();
  if (first + 4 <= n) {
    for (size_t i = first; i < first + 4; ++i) { y[i] = 2 * x[i]; }
  } else if (!Bug) {
    for (size_t i = first; i < n; ++i) { y[i] = 2 * x[i]; }
  }
}
/// Sums in blocks of 256 elements, each by one warp; integers, so that any order is right.
template <bool Bug>
__global__ void sums_by_warp(size_t n, int const* x, int* y) {
  auto const begin = index() / 32 * 256;
  if (begin >= n) { return; }
  auto const end = begin + 256 <= n ? begin + 256 : Bug ? begin : n;
  int sum = 0;
  for (auto i = begin + threadIdx.x % 32; i < end; i += 32) { sum += x[i]; }
  for (int step = 16; step > 0; step /= 2) { sum += __shfl_down_sync(~0U, sum, step); }
  if (threadIdx.x % 32 == 0) { y[begin / 256] = sum; }
}
/// Blocks of 32 x 8 threads; one of these bugs for each `Bug`.
enum class transpose_bug { none, tail, barrier, stride, past };
template <transpose_bug Bug>
__global__ void transpose(size_t rows, size_t columns, float const* x, float* y) {
  __shared__ float tile[32][33];
  auto const left = blockIdx.x * size_t{32}, top = blockIdx.y * size_t{32};
  if (Bug == transpose_bug::tail && (left + 32 > columns || top + 32 > rows)) { return; }
  auto const pitch = Bug == transpose_bug::stride ? rows : columns;
  for (unsigned k = threadIdx.y; k < 32; k += 8) {
    if (top + k < rows && left + threadIdx.x < columns) {
      tile[k][threadIdx.x] = x[(top + k) * pitch + left + threadIdx.x];
    }
  }
  if (Bug != transpose_bug::barrier) { __syncthreads(); }
  for (unsigned k = threadIdx.y; k < 32; k += 8) {
    bool const inside = Bug == transpose_bug::past || top + threadIdx.x < rows;
    if (left + k < columns && inside) {
      y[(left + k) * rows + top + threadIdx.x] = tile[threadIdx.x][k];
    }
  }
}

/// One warp for each row.
enum class softmax_bug { none, tail, start, input };
template <softmax_bug Bug>
__global__ void softmax(size_t rows, size_t columns, float const* x, float* y) {
  auto const row = index() / 32;
  if (row >= rows) { return; }
  unsigned const lane = threadIdx.x % 32;
  auto* const from = const_cast<float*>(x) + row * columns;
  auto const end = Bug == softmax_bug::tail ? columns / 32 * 32 : columns;
  float most = Bug == softmax_bug::start ? 0 : -INFINITY;
  for (size_t i = lane; i < end; i += 32) { most = fmaxf(most, from[i]); }
  for (int step = 16; step > 0; step /= 2) { most = fmaxf(most, __shfl_xor_sync(~0U, most, step)); }
  float sum = 0;
  for (size_t i = lane; i < end; i += 32) {
    if (Bug == softmax_bug::input) { from[i] -= most; }
    auto const of = Bug == softmax_bug::input ? from[i] : from[i] - most;
    sum += expf(of);
  }
  for (int step = 16; step > 0; step /= 2) { sum += __shfl_xor_sync(~0U, sum, step); }
  for (size_t i = lane; i < end; i += 32) {
    auto const of = Bug == softmax_bug::input ? from[i] : from[i] - most;
    y[row * columns + i] = expf(of) / sum;
  }
}

/// C = A B of m x k and k x n numbers, in tiles of 16 x 16 threads.
enum class gemm_bug { none, tail, barrier, stride, half };
template <gemm_bug Bug>
__global__ void gemm(size_t m, size_t n, size_t k, float const* a, float const* b, float* c) {
  __shared__ float of_a[16][16], of_b[16][16];
  auto const row = blockIdx.y * size_t{16} + threadIdx.y,
             column = blockIdx.x * size_t{16} + threadIdx.x;
  auto const tiles = Bug == gemm_bug::tail ? k / 16 : (k + 15) / 16;
  std::conditional_t<Bug == gemm_bug::half, __half, float> sum = 0.0F;
  for (size_t tile = 0; tile < tiles; ++tile) {
    auto const i = tile * 16 + threadIdx.x, j = tile * 16 + threadIdx.y;
    of_a[threadIdx.y][threadIdx.x] = row < m && i < k ? a[row * k + i] : 0;
    of_b[threadIdx.y][threadIdx.x] =
        column < n && j < k ? b[Bug == gemm_bug::stride ? column * k + j : j * n + column] : 0;
    __syncthreads();
    for (int e = 0; e < 16; ++e) {
      auto const product = of_a[threadIdx.y][e] * of_b[e][threadIdx.x];
      sum = static_cast<decltype(sum)>(static_cast<float>(sum) + product);
    }
    if (Bug != gemm_bug::barrier) { __syncthreads(); }
  }
  if (row < m && column < n) { c[row * n + column] = sum; }
}

// Off by one.

template <bool Bug>
__global__ void smooth(size_t n, float const* x, float* y) {
  auto const i = index();
  if (i >= n) { return; }
  bool const inside = i > 0 && i + 1 + Bug < n;
  y[i] = inside ? x[i - 1] * 0.25F + x[i] * 0.5F + x[i + 1] * 0.25F : x[i];
}
template <bool Bug>
__global__ void moving_sum(size_t n, int const* x, int* y) {
  auto const i = index();
  if (i >= n) { return; }
  int sum = 0;
  for (size_t k = i < 4 + Bug ? 0 : i - 4 - Bug; k <= i; ++k) { sum += x[k]; }
  y[i] = sum;
}
/// The number of 16 edges at or below x.
template <bool Bug>
__global__ void digitize(size_t n, int const* x, int* y) {
  auto const i = index();
  if (i >= n) { return; }
  int low = 0, high = Bug ? 15 : 16;
  while (low < high) {
    int const between = (low + high) / 2;
    if (x[i] >= 10 * between) {
      low = between + 1;
    } else {
      high = between;
    }
  }
  y[i] = low;
}
/// y[i] = x[2 i] + x[2 i + 1], without a partner for a last odd element.
template <bool Bug>
__global__ void pair_sums(size_t n, int const* x, int* y) {
  auto const i = index();
  if (2 * i >= n) { return; }
  y[i] = x[2 * i] + (2 * i + 1 < n + Bug ? x[2 * i + 1] : 0);
}

// Missing barriers.

/// The sum of each 256 elements.
template <bool Bug>
__global__ void block_sums(size_t n, int const* x, int* y) {
  __shared__ int part[256];
  part[threadIdx.x] = index() < n ? x[index()] : 0;
  __syncthreads();
  for (unsigned half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) { part[threadIdx.x] += part[threadIdx.x + half]; }
    if (!Bug) { __syncthreads(); }
  }
  if (threadIdx.x == 0) { y[blockIdx.x] = part[0]; }
}
/// Reverses each 256 elements, a last part among themselves.
template <bool Bug>
__global__ void reverse_blocks(size_t n, int const* x, int* y) {
  __shared__ int part[256];
  auto const begin = blockIdx.x * size_t{256};
  auto const count = static_cast<unsigned>(n - begin < 256 ? n - begin : 256);
  if (threadIdx.x < count) { part[threadIdx.x] = x[begin + threadIdx.x]; }
  if (!Bug) { __syncthreads(); }
  if (threadIdx.x < count) { y[begin + threadIdx.x] = part[count - 1 - threadIdx.x]; }
}
/// Prefix sums of each 256 elements.
template <bool Bug>
__global__ void scan_blocks(size_t n, int const* x, int* y) {
  __shared__ int part[256];
  part[threadIdx.x] = index() < n ? x[index()] : 0;
  __syncthreads();
  for (unsigned step = 1; step < 256; step *= 2) {
    int const before = threadIdx.x >= step ? part[threadIdx.x - step] : 0;
    if (!Bug) { __syncthreads(); }
    part[threadIdx.x] += before;
    __syncthreads();
  }
  if (index() < n) { y[index()] = part[threadIdx.x]; }
}
/// x minus the mean of its row; one block for each row.
template <bool Bug>
__global__ void centre_rows(size_t, size_t columns, float const* x, float* y) {
  __shared__ double part[256];
  __shared__ float mean;
  double sum = 0;
  for (size_t i = threadIdx.x; i < columns; i += 256) { sum += x[blockIdx.x * columns + i]; }
  part[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 256; ++i) { part[0] += part[i]; }
    mean = static_cast<float>(part[0] / static_cast<double>(columns));
  }
  if (!Bug) { __syncthreads(); }
  for (size_t i = threadIdx.x; i < columns; i += 256) {
    y[blockIdx.x * columns + i] = x[blockIdx.x * columns + i] - mean;
  }
}

// Strides.

template <bool Bug>
__global__ void row_sums(size_t rows, size_t columns, float const* x, float* y) {
  auto const row = index();
  if (row >= rows) { return; }
  double sum = 0;
  for (size_t i = 0; i < columns; ++i) { sum += x[row * (Bug ? rows : columns) + i]; }
  y[row] = static_cast<float>(sum);
}
template <bool Bug>
__global__ void column_sums(size_t rows, size_t columns, float const* x, float* y) {
  auto const column = index();
  if (column >= columns) { return; }
  double sum = 0;
  for (size_t i = 0; i < rows; ++i) { sum += x[i * (Bug ? rows : columns) + column]; }
  y[column] = static_cast<float>(sum);
}

// Overflow of int.

/// Where row i of a packed triangle begins.
template <bool Bug>
__global__ void triangle(size_t n, int const* x, long long* y) {
  auto const i = index();
  if (i >= n) { return; }
  int const row = static_cast<int>(i);
  y[i] = x[i] + (Bug ? row * (row + 1) / 2 : static_cast<long long>(i * (i + 1) / 2));
}
/// Element 4099 i of a ring.
template <bool Bug>
__global__ void gather_ring(size_t n, float const* x, float* y) {
  auto const i = index();
  if (i >= n) { return; }
  if (Bug) {
    int const at = static_cast<int>(i) * 4099 % static_cast<int>(n);
    y[i] = x[at < 0 ? -at : at];
  } else {
    y[i] = x[i * 4099 % n];
  }
}
/// An element by its offset in bytes, as code for pitched memory has it.
template <bool Bug>
__global__ void scale_at_bytes(size_t n, float const* x, float* y) {
  auto const i = index();
  if (i >= n) { return; }
  auto const offset = static_cast<std::conditional_t<Bug, int, size_t>>(4 * i);
  auto const* const from = reinterpret_cast<char const*>(x) + offset;
  y[i] = 2 * *reinterpret_cast<float const*>(from);
}

// Vector loads.

template <bool Bug>
__global__ void scale_vectors(size_t n, float const* x, float* y) {
  auto const first = 4 * index();
  bool const aligned =
      (reinterpret_cast<std::uintptr_t>(x) | reinterpret_cast<std::uintptr_t>(y)) % 16 == 0;
  if (first + 4 <= n && (Bug || aligned)) {
    auto const four = *reinterpret_cast<float4 const*>(x + first);
    *reinterpret_cast<float4*>(y + first) = {2 * four.x, 2 * four.y, 2 * four.z, 2 * four.w};
    return;
  }
  for (auto i = first; i < first + 4 && i < n; ++i) { y[i] = 2 * x[i]; }
}
/// Sums of rows by vectors of 4, one thread for each row.
template <bool Bug>
__global__ void row_sums_by_vectors(size_t rows, size_t columns, float const* x, float* y) {
  auto const row = index();
  if (row >= rows) { return; }
  auto const* const from = x + row * columns;
  double sum = 0;
  size_t i = 0;
  if (Bug || reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
    for (; i + 4 <= columns; i += 4) {
      auto const four = *reinterpret_cast<float4 const*>(from + i);
      sum += double{four.x} + four.y + four.z + four.w;
    }
  }
  for (; i < columns; ++i) { sum += from[i]; }
  y[row] = static_cast<float>(sum);
}
/// Bytes with their bits inverted, 4 at once.
template <bool Bug>
__global__ void invert_bytes(size_t n, unsigned char const* x, unsigned char* y) {
  auto const first = 4 * index();
  bool const aligned =
      (reinterpret_cast<std::uintptr_t>(x) | reinterpret_cast<std::uintptr_t>(y)) % 4 == 0;
  if (first + 4 <= n && (Bug || aligned)) {
    *reinterpret_cast<unsigned*>(y + first) = ~*reinterpret_cast<unsigned const*>(x + first);
    return;
  }
  for (auto i = first; i < first + 4 && i < n; ++i) { y[i] = static_cast<unsigned char>(~x[i]); }
}

}  // namespace assay::benchmark::seeded
