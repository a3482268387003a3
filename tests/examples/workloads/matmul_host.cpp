// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "workloads/matmul.hpp"

#include <assay/memory/heap.hpp>
#include <assay/verify.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

using namespace assay;

TEMPLATE_TEST_CASE("matmul on the host is exact where sums are, and writes nothing else", "[host]",
                   float, bfloat16) {
  auto const seed = test::fresh_seed();
  auto const factory = [seed](setup& make, std::size_t m, std::size_t n, std::size_t k) {
    auto const whole = [](std::size_t of) { return static_cast<std::int64_t>(of); };
    auto const rows = [=](std::size_t count, std::size_t of) {
      return matrix{count, of, static_cast<std::size_t>(copy::chunked_pitch<TestType>(whole(of)))};
    };
    workloads::matmul<TestType> const work{whole(m), whole(n), whole(k), seed, true};
    auto const in = std::make_shared<workloads::matmul_problem<TestType>>(work.recipe());
    auto const a = make.from(in->a(), rows(m, k)), b = make.from(in->b(), rows(k, n));
    auto const c = make.output<TestType>(rows(m, n));
    auto const right = [=](std::size_t row, std::size_t column) {
      double sum = 0;
      for (std::size_t p = 0; p < k; ++p) { sum += double{a.seeded(row, p)} * b.seeded(p, column); }
      return static_cast<double>(static_cast<TestType>(static_cast<float>(sum)));
    };
    make.expect(c, right, tolerance{});
    return [=, lives = in, threads = make.scalar("threads", {1, 3})] {
      lane<on::host, host_stream, mr::heap_resource> where{on::host{threads}, {}, {}, 0};
      run_on(where, work, workloads::matmul_arrays<TestType>{a.data(), b.data(), c.data()});
    };
  };
  std::vector<shape> const sizes{{1, 1, 1},      {3, 5, 0},     {4, 512, 7}, {5, 513, 9},
                                 {127, 129, 65}, {1, 1025, 33}, {9, 1, 300}};
  auto const seen = verify(factory, {.seed = seed, .only = sizes});
  REQUIRE(seen);
}
