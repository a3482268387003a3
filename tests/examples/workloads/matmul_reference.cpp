// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "workloads/matmul_problem.hpp"

#include <cmath>
#include <random>
#include <vector>

using namespace assay;

TEST_CASE("the reference of matmul, written out", "[reference]") {
  std::vector<float> const a{1, 2, 3, -4, 5, 6};     // 2 x 3
  std::vector<float> const b{7, 8, 9, 10, -11, 12};  // 3 x 2
  std::vector<double> c(4, -1), magnitude(4, -1);
  for (std::size_t row = 0; row < 2; ++row) {
    workloads::matmul_row(2, 3, a.data() + 3 * row, b.data(), 2, c.data() + 2 * row,
                          magnitude.data() + 2 * row);
  }
  CHECK(c == std::vector<double>{7 + 18 - 33, 8 + 20 + 36, -28 + 45 - 66, -32 + 50 + 72});
  CHECK(magnitude == std::vector<double>{58, 64, 139, 154});
}

TEST_CASE("a sum of no products is zero", "[reference]") {
  std::vector<double> c(6, -1), magnitude(6, -1);
  for (std::size_t row = 0; row < 2; ++row) {
    workloads::matmul_row<float>(3, 0, nullptr, nullptr, 3, c.data() + 3 * row,
                                 magnitude.data() + 3 * row);
  }
  CHECK(c == std::vector<double>(6, 0.0));
  CHECK(magnitude == std::vector<double>(6, 0.0));
  CHECK(workloads::rounded_sum_share(0) == 0);
  CHECK(workloads::truncated_sum_share(0) == 0);
}

TEST_CASE("sums in float stay within their bound, and come near it", "[reference]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  std::uniform_real_distribution<float> value{0.5F, 1.0F};
  for (int const k : {1, 2, 17, 1000, 20'000}) {
    INFO("k " << k);
    float sum = 0;
    double exact = 0;
    for (int i = 0; i < k; ++i) {
      auto const x = value(random);
      auto const y = value(random);
      sum += x * y;
      exact += static_cast<double>(x) * static_cast<double>(y);
    }
    REQUIRE(std::abs(static_cast<double>(sum) - exact) <= workloads::rounded_sum_share(k) * exact);
  }
  // All roundings in one direction: half an ulp is lost by each addition to a sum just below 2^24.
  CHECK(workloads::rounded_sum_share(1000) < 1000 * 0x1p-23);
  CHECK(workloads::truncated_sum_share(1024) >= 64 * 18 * 0x1p-23);
  CHECK(workloads::stored_allowed(2.0, 0.5, 0x1p-8, 0) == 0.5 + 2.5 * 0x1p-8);
}
