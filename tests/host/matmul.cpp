// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/host/matmul.hpp>
#include <assay/reference/matmul.hpp>
#include <assay/workload/matmul_problem.hpp>

#include <array>
#include <vector>

using namespace assay;

TEMPLATE_TEST_CASE("matmul on the host is exact where sums are, and writes nothing else", "[host]",
                   float, bfloat16) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  using shape = std::array<std::int64_t, 3>;
  for (auto const& [m, n, k] : {shape{1, 1, 1}, shape{3, 5, 0}, shape{4, 512, 7}, shape{5, 513, 9},
                                shape{127, 129, 65}, shape{1, 1025, 33}, shape{9, 1, 300}}) {
    for (int const threads : {1, 3}) {
      INFO(m << " x " << n << " x " << k << ", threads " << threads);
      workloads::matmul_problem<TestType> problem{{m, n, k, seed, true}};
      auto const size = static_cast<std::size_t>(m * n);
      constexpr std::size_t fence = 16;
      std::vector<TestType> c(size + fence, static_cast<TestType>(99.0F));
      host::matmul(threads, m, n, k, problem.a(), problem.b(), c.data());
      std::vector<double> expected(size), magnitude(size);
      reference::matmul(m, n, k, problem.a(), problem.b(), expected.data(), magnitude.data());
      for (std::size_t i = 0; i < size; ++i) {
        auto const stored =
            static_cast<double>(static_cast<TestType>(static_cast<float>(expected[i])));
        REQUIRE(static_cast<double>(c[i]) == stored);
      }
      for (std::size_t i = size; i < c.size(); ++i) { REQUIRE(static_cast<float>(c[i]) == 99.0F); }
    }
  }
}
