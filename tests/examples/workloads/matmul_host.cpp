// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "workloads/matmul.hpp"

#include <assay/memory/heap.hpp>

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
      auto const a_pitch = copy::chunked_pitch<TestType>(k);
      auto const pitch = copy::chunked_pitch<TestType>(n);
      auto const size = static_cast<std::size_t>(m * pitch);
      constexpr std::size_t fence = 16;
      std::vector<TestType> c(size + fence, static_cast<TestType>(99.0F));
      lane<on::host, host_stream, mr::heap_resource> where{on::host{threads}, {}, {}, 0};
      run_on(where, workloads::matmul<TestType>{.m = m, .n = n, .k = k},
             workloads::matmul_arrays<TestType>{problem.a().data(), problem.b().data(), c.data()});
      std::vector<double> expected(static_cast<std::size_t>(n)), magnitude(expected.size());
      for (std::int64_t i = 0; i < m; ++i) {
        workloads::matmul_row(n, k, problem.a().data() + i * a_pitch, problem.b().data(), pitch,
                              expected.data(), magnitude.data());
        for (std::int64_t j = 0; j < pitch; ++j) {
          auto const got = c[static_cast<std::size_t>(i * pitch + j)];
          auto const stored =
              j < n
                  ? static_cast<TestType>(static_cast<float>(expected[static_cast<std::size_t>(j)]))
                  : static_cast<TestType>(99.0F);
          REQUIRE(static_cast<double>(got) == static_cast<double>(stored));
        }
      }
      for (std::size_t i = size; i < c.size(); ++i) { REQUIRE(static_cast<float>(c[i]) == 99.0F); }
    }
  }
}
