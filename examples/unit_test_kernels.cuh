// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that unit_test.cu tests: a thread for each element, a warp for each row.
#pragma once

#include <cstddef>

using std::size_t;

__device__ inline size_t thread() { return blockIdx.x * size_t{256} + threadIdx.x; }
inline unsigned blocks(size_t threads) { return static_cast<unsigned>(threads / 256 + 1); }

/// Work that runs a kernel on a stream, with so many threads at least.
template <class... Parameters, class... Arguments>
auto launch(void (*kernel)(Parameters...), size_t threads, Arguments... arguments) {
  return [=](cudaStream_t s) { kernel<<<blocks(threads), 256, 0, s>>>(arguments...); };
}

static __global__ void is_valid(size_t n, unsigned const* mask, unsigned* valid) {
  if (size_t const i = thread(); i < n) { valid[i] = mask[i / 32] >> (i % 32) & 1; }
}
static __global__ void fill_nulls(size_t n, int const* x, unsigned const* valid, int with,
                                  int* filled) {
  if (size_t const i = thread(); i < n) { filled[i] = valid[i] != 0 ? x[i] : with; }
}
static __global__ void cast(size_t n, int const* x, double* y) {
  if (size_t const i = thread(); i < n) { y[i] = x[i]; }
}
static __global__ void sum_rows(size_t rows, size_t columns, float const* x, float* sums) {
  size_t const row = thread() / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (size_t i = lane; row < rows && i < columns; i += 32) { sum += x[row * columns + i]; }
  for (int step = 16; step > 0; step /= 2) { sum += __shfl_down_sync(~0U, sum, step); }
  if (row < rows && lane == 0) { sums[row] = sum; }
}
static __global__ void product(size_t m, size_t k, size_t n, float const* a, float const* b,
                               float* c) {
  size_t const i = thread();
  float dot = 0;
  for (size_t j = 0; i < m * n && j < k; ++j) { dot += a[i / n * k + j] * b[j * n + i % n]; }
  if (i < m * n) { c[i] = dot; }
}
