// SPDX-License-Identifier: Apache-2.0
// Unit tests with Catch2 of three kernels for a column with nulls, of sums and of a product.
// assay-uses: catch2
#include "unit_test_kernels.cuh"  // in its place yours

#include <assay/verify.cuh>

#include <catch2/catch_test_macros.hpp>  // version 3; for version 2: <catch2/catch.hpp>

TEST_CASE("is_valid, fill_nulls and cast") {
  REQUIRE(assay::verify([](assay::setup& make, size_t n) {
    auto const mask = make.random<unsigned>(n / 32 + 1), valid = make.scratch<unsigned>(n);
    auto const x = make.random<int>(n), filled = make.scratch<int>(n);
    auto const y = make.named("y").output<double>(n);
    auto const is_set = [=](size_t i) { return (mask.seeded(i / 32) >> i % 32 & 1) != 0; };
    make.expect(y, [=](size_t i) { return is_set(i) ? x.seeded(i) : -7; });
    return [=](cudaStream_t s) {
      launch(is_valid, n, n, mask.data(), valid.data())(s);
      launch(fill_nulls, n, n, x.data(), valid.data(), -7, filled.data())(s);
      launch(cast, n, n, filled.data(), y.data())(s);
    };
  }));
}
// docs: test
TEST_CASE("sum_rows") {
  REQUIRE(assay::verify([](assay::setup& make, size_t rows, size_t n) {
    auto const x = make.random<float>(rows * n), y = make.named("y").output<float>(rows);
    auto const right = [=](std::span<double> sums) {
      for (size_t i = 0; i < rows * n; ++i) { sums[i / n] += x.seeded(i); }
    };
    make.expect(y, right, assay::sum_of(n));
    return launch(sum_rows, 32 * rows, rows, n, x.data(), y.data());  // a void(cudaStream_t)
  }));
}
// docs: end
TEST_CASE("product") {
  REQUIRE(assay::verify([](assay::setup& make, size_t m, size_t k, size_t n) {
    auto const a = make.random<float>(m * k), b = make.random<float>(k * n);
    auto const c = make.named("c").output<float>(m * n);
    auto const right = [=](std::span<double> dots) {
      for (size_t i = 0; i < m * n * k; ++i) {
        dots[i / k] += 1.0 * a.seeded(i / k / n * k + i % k) * b.seeded(i % k * n + i / k % n);
      }
    };
    make.expect(c, right, assay::dot_of(k));
    return launch(product, m * n, m, k, n, a.data(), b.data(), c.data());
  }));
}
