// SPDX-License-Identifier: Apache-2.0
// Unit tests with Catch2 of kernels that cast a column and that fill its nulls.
// assay-uses: catch2
#include <assay/verify.cuh>

#include <catch2/catch_test_macros.hpp>  // version 3; for version 2: <catch2/catch.hpp>

using std::size_t;
unsigned blocks(size_t threads) { return static_cast<unsigned>(threads / 256 + 1); }
__device__ size_t thread() { return blockIdx.x * size_t{256} + threadIdx.x; }

__global__ void cast(size_t n, int const* x, double* y) {
  if (size_t const i = thread(); i < n) { y[i] = x[i]; }
}
__global__ void fill_nulls(size_t n, int const* x, unsigned const* mask, int with, int* y) {
  if (size_t const i = thread(); i < n) { y[i] = mask[i / 32] >> (i % 32) & 1 ? x[i] : with; }
}

// docs: test
TEST_CASE("cast") {
  auto const seen = assay::verify([](assay::setup& make, size_t n) {
    auto const x = make.random<int>(n);
    auto const y = make.output<double>(n);
    make.expect(y, [x](size_t i) { return x.seeded(i); });
    return [=](cudaStream_t s) { cast<<<blocks(n), 256, 0, s>>>(n, x.data(), y.data()); };
  });
  INFO(seen);
  REQUIRE(seen);
}
// docs: end
TEST_CASE("fill_nulls") {
  auto const seen = assay::verify([](assay::setup& make, size_t n) {
    auto const x = make.random<int>(n), y = make.output<int>(n);
    auto const mask = make.random<unsigned>(n / 32 + 1);
    auto const with = make.scalar("with", {0, -7});
    auto const is_valid = [=](size_t i) { return (mask.seeded(i / 32) >> (i % 32) & 1) != 0; };
    make.expect(y, [=](size_t i) { return is_valid(i) ? x.seeded(i) : with; });
    return [=](cudaStream_t s) {
      fill_nulls<<<blocks(n), 256, 0, s>>>(n, x.data(), mask.data(), with, y.data());
    };
  });
  INFO(seen);
  REQUIRE(seen);
}
