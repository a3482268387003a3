// SPDX-License-Identifier: Apache-2.0
#include "workloads/matmul.hpp"
#include "catch.hpp"

#include <assay/memory/heap.hpp>
#include <assay/rig.hpp>

#include <limits>
#include <string>

using namespace assay;
using assay::test::contains;

namespace {

using host_lane_type = lane<on::host, host_stream, mr::heap_resource>;

host_lane_type make_lane(int index, int threads = 2) {
  return {on::host{threads}, host_stream{}, mr::heap_resource{}, index};
}

template <class T>
std::string wrong(workloads::matmul<T> const& work,
                  workloads::prepared<on::host, workloads::matmul<T>>& state) {
  return workloads::verify(work, state).value_or("right");
}

}  // namespace

TEMPLATE_TEST_CASE("matmul is right on host lanes, whose outputs are their own", "[workload]",
                   float, bfloat16) {
  static_assert(workload_on<workloads::matmul<TestType>, host_lane_type>);
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (bool const exact : {false, true}) {
    for (int const size : {1, 3, 64, 131}) {
      workloads::matmul<TestType> const work{
          .m = size, .n = size + 2, .k = size + 7, .seed = seed, .exact = exact};
      auto first = make_lane(0);
      auto second = make_lane(1);
      auto state = workloads::prepare(work, first, 2);
      workloads::enqueue(work, first, state);
      CHECK_THAT(wrong(work, state), contains("lane 1: row 0, column 0: got"));
      workloads::enqueue(work, second, state);
      CHECK(wrong(work, state) == "right");
      workloads::poison(work, state);
      CHECK_THAT(wrong(work, state), contains("lane 0: row 0"));
    }
  }
}

TEMPLATE_TEST_CASE("one wrong element is caught and named", "[workload]", float, bfloat16) {
  auto where = make_lane(0);
  for (bool const exact : {false, true}) {
    workloads::matmul<TestType> const work{.m = 70, .n = 50, .k = 20, .exact = exact};
    auto state = workloads::prepare(work, where, 1);
    workloads::enqueue(work, where, state);
    REQUIRE(wrong(work, state) == "right");
    auto& element = state.arrays(0).c[69 * copy::chunked_pitch<TestType>(50) + 31];
    auto const was = element;
    // Exact results differ by one unit of the last place; others by more than their bound.
    auto const change = exact ? 0x1p-3F : 0.5F;
    element = static_cast<TestType>(static_cast<float>(was) + change);
    CHECK_THAT(wrong(work, state), contains("lane 0: row 69, column 31: got"));
    element = static_cast<TestType>(std::numeric_limits<float>::quiet_NaN());
    CHECK_THAT(wrong(work, state), contains("lane 0: row 69, column 31: got"));
    element = was;
    CHECK(wrong(work, state) == "right");
  }
}

TEMPLATE_TEST_CASE("of large products rows are sampled, and the rest is checked by Freivalds",
                   "[workload]", float, bfloat16) {
  auto where = make_lane(0, 4);
  // More than `all_products`: one row of 64 is compared, the others by their sum alone.
  workloads::matmul<TestType> const work{.m = 260, .n = 1100, .k = 1000, .exact = true};
  REQUIRE(work.m * work.n * work.k > workloads::matmul_problem<TestType>::all_products);
  auto state = workloads::prepare(work, where, 1);
  workloads::enqueue(work, where, state);
  REQUIRE(wrong(work, state) == "right");
  for (std::int64_t row = 0; row < work.m; row += 13) {  // an element that was never written
    auto& element = state.arrays(0).c[row * copy::chunked_pitch<TestType>(work.n) + 7];
    auto const was = element;
    element = static_cast<TestType>(3.39e38F);
    CHECK_THAT(wrong(work, state), contains("row " + std::to_string(row) + ", column 7: got"));
    element = was;
  }
  // A tile that has another tile's result: whatever rows are compared, one of them is in it.
  for (std::int64_t row = 128; row < 192; ++row) {
    for (std::int64_t col = 512; col < 768; ++col) {
      auto* const c = state.arrays(0).c;
      auto const pitch = copy::chunked_pitch<TestType>(work.n);
      c[row * pitch + col] = c[(row - 128) * pitch + col];
    }
  }
  CHECK(wrong(work, state) != "right");
}

TEST_CASE("in a row that is not sampled one unit in the last place is found if sums are exact",
          "[workload]") {
  auto where = make_lane(0, 4);
  workloads::matmul<float> const work{.m = 260, .n = 1100, .k = 1000, .exact = true};
  auto state = workloads::prepare(work, where, 1);
  workloads::enqueue(work, where, state);
  for (std::int64_t row = 5; row < work.m; row += 40) {
    auto& element = state.arrays(0).c[row * copy::chunked_pitch<float>(work.n) + 77];
    element += 0x1p-6F;
    CHECK_THAT(wrong(work, state), contains("row " + std::to_string(row) + ", column 77: got"));
    element -= 0x1p-6F;
  }
}

TEST_CASE("matmul says what it is, what it must do, and what it cannot", "[workload]") {
  workloads::matmul<float> const work{.m = 2, .n = 3, .k = 5};
  CHECK(describe(work) == "matmul<float>{2 x 3 x 5}");
  CHECK(describe(workloads::matmul<bfloat16>{}) == "matmul<bfloat16>{4096 x 4096 x 4096}");
  CHECK(work.item_traffic() == traffic{100, 24, 60});
  CHECK(workloads::matmul<bfloat16>{.m = 2, .n = 3, .k = 5}.item_traffic() == traffic{50, 12, 60});
  auto where = make_lane(0);
  CHECK_THROWS_WITH((workloads::prepare(workloads::matmul<float>{.m = -1}, where, 1)),
                    contains("m = -1 is not possible: 0 to 2^20"));
  CHECK_THROWS_WITH((workloads::prepare(workloads::matmul<float>{.k = (1 << 20) + 1}, where, 1)),
                    contains("k = 1048577 is not possible"));
  CHECK_THROWS_WITH(
      (workloads::prepare(workloads::matmul<float>{.k = 300'000, .exact = true}, where, 1)),
      contains("0 to 2^18"));
  CHECK_THROWS_WITH(workloads::prepare(work, where, 0), contains("lanes = 0"));
}

TEST_CASE("products without elements, and of no terms", "[workload]") {
  auto where = make_lane(0);
  for (auto const& work : {workloads::matmul<float>{.m = 0, .n = 3, .k = 5},
                           workloads::matmul<float>{.m = 3, .n = 0, .k = 5},
                           workloads::matmul<float>{.m = 3, .n = 4, .k = 0}}) {
    auto state = workloads::prepare(work, where, 1);
    workloads::enqueue(work, where, state);
    CHECK(wrong(work, state) == "right");
  }
  workloads::matmul<float> const zero{.m = 3, .n = 4, .k = 0};
  auto state = workloads::prepare(zero, where, 1);
  CHECK_THAT(wrong(zero, state), contains("expected 0 within"));
}

TEST_CASE("a pipeline runs matmul on the host", "[workload]") {
  rig made{pipeline{workloads::matmul<float>{.m = 40, .n = 30, .k = 20}, on::host{2}}};
  CHECK(made.verify().value_or("right") == "right");
}
