// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels, right and with one bug, of memory, state, types of numbers, NaN and atomics.
#pragma once

#include "seeded_kernels.cuh"

namespace assay::benchmark::seeded {

// Memory that nobody has written.

template <bool>
__global__ void add_up(size_t n, int const* x, long long* y) {
  if (index() < n) {
    atomicAdd(reinterpret_cast<unsigned long long*>(y),
              static_cast<unsigned long long>(1LL * x[index()]));
  }
}
/// Counts of the bytes of each 256 elements: row b of y is the histogram of block b.
template <bool Bug>
__global__ void histograms(size_t n, unsigned char const* x, int* y) {
  __shared__ int counts[256];
  if (!Bug) { counts[threadIdx.x] = 0; }
  __syncthreads();
  if (index() < n) { atomicAdd(&counts[x[index()]], 1); }
  __syncthreads();
  y[index()] = counts[threadIdx.x];
}
/// The sum of so many parts, by one block.
static __global__ void total(size_t count, int const* parts, int* y) {
  __shared__ int part[256];
  int sum = 0;
  for (size_t i = threadIdx.x; i < count; i += 256) { sum += parts[i]; }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int i = 1; i < 256 && threadIdx.x == 0; ++i) { sum += part[i]; }
  if (threadIdx.x == 0) { *y = sum; }
}
template <bool Bug>
__global__ void largest(size_t n, int const* x, int* y) {
  if (!Bug && threadIdx.x == 0) { *y = -1000; }
  __syncthreads();
  for (size_t i = threadIdx.x; i < n; i += 256) { atomicMax(y, x[i]); }
}

// State of earlier calls.

/// The sum of all elements: the block that ends last adds up what the others have left.
template <bool Bug>
__global__ void sum_by_last(size_t n, int const* x, int* parts, unsigned* done, int* y) {
  __shared__ bool is_last;
  int sum = index() < n ? x[index()] : 0;
  for (int step = 16; step > 0; step /= 2) { sum += __shfl_down_sync(~0U, sum, step); }
  if (threadIdx.x % 32 == 0) { parts[index() / 32] = sum; }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) { is_last = atomicAdd(done, 1) + 1 == gridDim.x; }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) { return; }
  sum = 0;
  for (unsigned i = 0; i < gridDim.x * 8; ++i) { sum += static_cast<int volatile*>(parts)[i]; }
  *y = sum;
  if (!Bug) { *done = 0; }
}
static __device__ int kept_sums[1 << 12];
/// Sums of each 256 elements, kept for the next kernel: here, or in `parts` where that is given.
static __global__ void keep_sums(size_t n, int const* x, int* parts) {
  int const sum = __syncthreads_count(index() < n && x[index()] > 0);
  if (threadIdx.x == 0) { (parts != nullptr ? parts : kept_sums)[blockIdx.x] = sum; }
}
static __global__ void bring_sums(size_t n, int* y, int const* parts) {
  if (index() < n) { y[index()] = (parts != nullptr ? parts : kept_sums)[index()]; }
}
static __global__ void scale_by(size_t n, float const* x, float by, float* y) {
  if (index() < n) { y[index()] = x[index()] * by; }
}
static __device__ int kept_total;
static __global__ void keep_total(int const* sum) { kept_total = *sum; }
static __global__ void subtract_total(size_t n, int const* x, int const* sum, int* y) {
  if (index() < n) { y[index()] = x[index()] - (sum != nullptr ? *sum : kept_total); }
}

// Writes behind the end.

template <bool Bug>
__global__ void scale(size_t n, float const* x, float* y) {
  if (Bug || index() < n) { y[index()] = index() < n ? 2 * x[index()] : 0; }
}
/// Counts of numbers from 0 to 256 in steps of one, the last of which holds 255 and 256.
template <bool Bug>
__global__ void histogram(size_t n, int const* x, int* y) {
  if (index() < n) { atomicAdd(y + (Bug || x[index()] < 256 ? x[index()] : 255), 1); }
}
template <bool Bug>
__global__ void differences(size_t n, int const* x, int* y) {
  auto const i = index();
  if (i >= n) { return; }
  if (i == 0) { y[0] = x[0]; }
  if (i + 1 < n + Bug) { y[i + 1] = (i + 1 < n ? x[i + 1] : 0) - x[i]; }
}

// Inputs that change.

/// Each 256 elements in order, by odd-even passes.
template <bool Bug>
__global__ void sort_blocks(size_t n, int const* x, int* y) {
  __shared__ int copy[256];
  auto const begin = blockIdx.x * size_t{256};
  auto const count = static_cast<unsigned>(n - begin < 256 ? n - begin : 256);
  auto* const part = Bug ? const_cast<int*>(x) + begin : copy;
  if (!Bug && threadIdx.x < count) { copy[threadIdx.x] = x[begin + threadIdx.x]; }
  __syncthreads();
  for (unsigned pass = 0; pass < count; ++pass) {
    auto const left = 2 * threadIdx.x + pass % 2;
    if (left + 1 < count && part[left] > part[left + 1]) {
      int const kept = part[left];
      part[left] = part[left + 1];
      part[left + 1] = kept;
    }
    __syncthreads();
  }
  if (threadIdx.x < count) { y[begin + threadIdx.x] = part[threadIdx.x]; }
}
template <bool Bug>
__global__ void root_of_absolute(size_t n, float const* x, float* y) {
  auto const i = index();
  if (i >= n) { return; }
  float const absolute = fabsf(x[i]);
  if (Bug) { const_cast<float*>(x)[i] = absolute; }
  y[i] = sqrtf(absolute);
}

// Types that are too small, and roundings.

template <bool Bug>
__global__ void square_sum(size_t n, int const* x, long long* y) {
  __shared__ long long part[256];
  std::conditional_t<Bug, unsigned, long long> sum = 0;
  for (size_t i = threadIdx.x; i < n; i += 256) { sum += static_cast<decltype(sum)>(x[i] * x[i]); }
  part[threadIdx.x] = static_cast<long long>(sum);
  __syncthreads();
  if (threadIdx.x != 0) { return; }
  for (int i = 1; i < 256; ++i) { sum += static_cast<decltype(sum)>(part[i]); }
  *y = static_cast<long long>(sum);
}
/// The sum of squared distances from the mean, by one block.
template <bool Bug>
__global__ void variance(size_t n, float const* x, float* y) {
  using number = std::conditional_t<Bug, float, double>;
  __shared__ number part[256];
  auto const sum_of = [&](auto const& each) {
    number sum = 0;
    for (size_t i = threadIdx.x; i < n; i += 256) { sum += each(static_cast<number>(x[i])); }
    __syncthreads();
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int i = 1; i < 256; ++i) { sum = i == 1 ? part[0] + part[1] : sum + part[i]; }
    return sum;
  };
  number const mean = n == 0 ? 0 : sum_of([](number v) { return v; }) / static_cast<number>(n);
  number found = 0;
  if (Bug) {
    found = sum_of([](number v) { return v * v; }) - mean * mean * static_cast<number>(n);
  } else {
    found = sum_of([mean](number v) { return (v - mean) * (v - mean); });
  }
  if (threadIdx.x == 0) { *y = static_cast<float>(found); }
}
template <bool Bug>
__global__ void to_nearest(size_t n, float const* x, int* y) {
  if (index() < n) {
    y[index()] = static_cast<int>(Bug ? x[index()] + 0.5F : floor(double{x[index()]} + 0.5));
  }
}
template <bool Bug>
__global__ void exponential(size_t n, float const* x, float* y) {
  if (index() < n) { y[index()] = Bug ? __expf(x[index()]) : expf(x[index()]); }
}
template <bool Bug>
__global__ void log_of_one_more(size_t n, float const* x, float* y) {
  if (index() < n) { y[index()] = Bug ? logf(1 + x[index()]) : log1pf(x[index()]); }
}

// NaN.

template <bool Bug>
__global__ void clamp(size_t n, float const* x, float* y) {
  auto const i = index();
  if (i >= n) { return; }
  y[i] = Bug ? fminf(fmaxf(x[i], -0.5F), 0.5F) : x[i] < -0.5F ? -0.5F : x[i] > 0.5F ? 0.5F : x[i];
}
template <bool Bug>
__global__ void rectify(size_t n, float const* x, float* y) {
  auto const i = index();
  if (i < n) { y[i] = Bug ? fmaxf(x[i], 0) : x[i] < 0 ? 0 : x[i]; }
}
/// The largest of each 256 elements.
template <bool Bug>
__global__ void block_largest(size_t n, float const* x, float* y) {
  __shared__ float part[256];
  part[threadIdx.x] = index() < n ? x[index()] : -INFINITY;
  __syncthreads();
  for (unsigned half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      float const a = part[threadIdx.x], b = part[threadIdx.x + half];
      part[threadIdx.x] = Bug ? fmaxf(a, b) : isnan(a) || a > b ? a : b;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) { y[blockIdx.x] = part[0]; }
}
template <bool Bug>
__global__ void sign(size_t n, float const* x, float* y) {
  auto const i = index();
  if (i < n) { y[i] = !Bug && isnan(x[i]) ? x[i] : static_cast<float>((x[i] > 0) - (x[i] < 0)); }
}

// Grids.

template <bool Bug>
__global__ void scale_in_strides(size_t n, float const* x, float* y) {
  auto const step = size_t{gridDim.x} * blockDim.x;
  for (auto i = index(); i < n; i += Bug ? n : step) { y[i] = 2 * x[i]; }
}
/// The sums of items of 4 elements, one block of 4 threads for each item.
template <bool Bug>
__global__ void item_sums(size_t, int const* x, int* y) {
  auto const item = Bug ? blockIdx.y : blockIdx.x;
  int sum = x[item * size_t{4} + threadIdx.x];
  for (int step = 2; step > 0; step /= 2) { sum += __shfl_down_sync(0xFU, sum, step, 4); }
  if (threadIdx.x == 0) { y[item] = sum; }
}

// Atomics.

template <bool Bug>
__global__ void count_digits(size_t n, unsigned char const* x, int* y) {
  if (index() >= n) { return; }
  auto* const count = y + x[index()] % 16;
  if (Bug) {
    ++*count;
  } else {
    atomicAdd(count, 1);
  }
}
template <bool Bug>
__global__ void sum_of_blocks(size_t n, int const* x, int* y) {
  __shared__ int sum;
  if (threadIdx.x == 0) { sum = 0; }
  __syncthreads();
  if (index() < n) { atomicAdd(&sum, x[index()]); }
  __syncthreads();
  if (threadIdx.x != 0) { return; }
  if (Bug) {
    *y += sum;
  } else {
    atomicAdd(y, sum);
  }
}
template <bool Bug>
__global__ void largest_of_all(size_t n, int const* x, int* y) {
  if (index() >= n) { return; }
  if (!Bug) {
    atomicMax(y, x[index()]);
  } else if (x[index()] > *y) {
    *y = x[index()];
  }
}
/// The positive elements in any order, and how many there are.
template <bool Bug>
__global__ void keep_positive(size_t n, int const* x, int* kept, unsigned* count) {
  if (index() >= n || x[index()] <= 0) { return; }
  unsigned slot = *count;
  if (Bug) {
    *count = slot + 1;
  } else {
    slot = atomicAdd(count, 1);
  }
  kept[slot] = x[index()];
}

// Size 0 and 1.

template <bool Bug>
__global__ void mean_or_zero(size_t n, int const* x, double* y) {
  __shared__ long long part[256];
  long long sum = 0;
  for (size_t i = threadIdx.x; i < n; i += 256) { sum += x[i]; }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int i = 1; i < 256 && threadIdx.x == 0; ++i) { sum += part[i]; }
  if (threadIdx.x == 0) {
    *y = !Bug && n == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(n);
  }
}
template <bool Bug>
__global__ void last_or_zero(size_t n, int const* x, int* y) {
  *y = Bug || n > 0 ? x[n - 1] : 0;
}
/// n places from 0 to 1, moved by x.
template <bool Bug>
__global__ void places(size_t n, float const* x, double* y) {
  auto const i = static_cast<double>(index());
  if (index() < n) {
    y[index()] = x[index()] + i / (static_cast<double>(n) - (Bug || n > 1 ? 1 : 0));
  }
}

}  // namespace assay::benchmark::seeded
