// SPDX-License-Identifier: Apache-2.0
// Unit tests with Catch2 of sums of many terms, whose order decides their rounding errors.
// assay-uses: catch2
#include <assay/verify.cuh>

#include <catch2/catch_test_macros.hpp>  // version 3; for version 2: <catch2/catch.hpp>

using std::size_t;
unsigned blocks(size_t threads) { return static_cast<unsigned>(threads / 256 + 1); }
__device__ size_t thread() { return blockIdx.x * size_t{256} + threadIdx.x; }

__global__ void sum_rows(size_t rows, size_t columns, float const* x, float* sums) {
  size_t const row = thread() / 32, lane = threadIdx.x % 32;  // a warp for each row
  float sum = 0;
  for (size_t i = lane; row < rows && i < columns; i += 32) { sum += x[row * columns + i]; }
  for (int step = 16; step > 0; step /= 2) { sum += __shfl_down_sync(~0U, sum, step); }
  if (row < rows && lane == 0) { sums[row] = sum; }
}
__global__ void product(size_t m, size_t k, size_t n, float const* a, float const* b, float* c) {
  size_t const i = thread();
  if (i >= m * n) { return; }
  float dot = 0;
  for (size_t j = 0; j < k; ++j) { dot += a[i / n * k + j] * b[j * n + i % n]; }
  c[i] = dot;
}

TEST_CASE("sum_rows") {
  auto const seen = assay::verify([](assay::setup& make, size_t rows, size_t columns) {
    auto const x = make.random<float>(rows * columns), sums = make.output<float>(rows);
    auto const right = [=](size_t row) {
      double sum = 0;
      for (size_t i = 0; i < columns; ++i) { sum += x.seeded(row * columns + i); }
      return sum;
    };
    make.expect(sums, right, assay::sum_of(columns));
    return [=](cudaStream_t s) {
      sum_rows<<<blocks(32 * rows), 256, 0, s>>>(rows, columns, x.data(), sums.data());
    };
  });
  INFO(seen);
  REQUIRE(seen);
}
TEST_CASE("product") {
  auto const seen = assay::verify([](assay::setup& make, size_t m, size_t k, size_t n) {
    auto const a = make.random<float>(m * k), b = make.random<float>(k * n);
    auto const c = make.output<float>(m * n);
    auto const right = [=](size_t i) {
      double dot = 0;
      for (size_t j = 0; j < k; ++j) {
        dot += 1.0 * a.seeded(i / n * k + j) * b.seeded(j * n + i % n);
      }
      return dot;
    };
    make.expect(c, right, assay::dot_of(k));
    return [=](cudaStream_t s) {
      product<<<blocks(m * n), 256, 0, s>>>(m, k, n, a.data(), b.data(), c.data());
    };
  });
  INFO(seen);
  REQUIRE(seen);
}
