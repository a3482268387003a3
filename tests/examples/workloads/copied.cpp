// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
/// @file
/// The host halves of the workloads that take a copy strategy, their references and verifiers.

#include "examples/workloads/copied_battery.hpp"
#include "workload/element_wise_battery.hpp"
#include "workloads/scale_add.hpp"

#include <assay/memory/heap.hpp>
#include <assay/rig.hpp>

#include <cmath>
#include <limits>
#include <span>

using namespace assay;
using assay::test::contains;

namespace {

using host_lane_type = lane<on::host, host_stream, mr::heap_resource>;

host_lane_type make_lane(int index, int threads = 1) {
  return {on::host{threads}, host_stream{}, mr::heap_resource{}, index};
}

auto const as_it_is = [](auto&) {};

}  // namespace

TEST_CASE("sums, gathers and transposes are right on host lanes", "[workload]") {
  static_assert(workload_on<workloads::streaming_sum<float>, host_lane_type>);
  static_assert(workload_on<workloads::row_gather, host_lane_type>);
  static_assert(workload_on<workloads::transpose, host_lane_type>);
  for (int const threads : {1, 3}) {
    test::check_sums<float>(make_lane(0, threads), make_lane(1, threads), as_it_is);
    test::check_sums<double>(make_lane(0, threads), make_lane(1, threads), as_it_is);
    test::check_gathers(make_lane(0, threads), make_lane(1, threads), as_it_is);
    test::check_transposes(make_lane(0, threads), make_lane(1, threads), as_it_is);
  }
  test::check_copied_refusals(make_lane(0));
}

TEMPLATE_TEST_CASE("scale_add is right on host lanes", "[workload]", float, double) {
  using work = workloads::scale_add<TestType>;
  static_assert(workload_on<work, host_lane_type>);
  test::check_elements_battery<work>(make_lane(0, 2), make_lane(1), as_it_is);
  test::check_elements_corruption<work>(make_lane(0), make_lane(1),
                                        [](auto& state, int lane, std::int64_t at) {
                                          state.arrays(lane).output[at] += TestType{1} / 1024;
                                        });
}

TEMPLATE_TEST_CASE("summed elements add up without rounding in any order", "[workload]", float,
                   double) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  workloads::streaming_sum<TestType> const work{.elements = 100'000, .seed = seed};
  auto where = make_lane(0);
  auto state = workloads::prepare(work, where, 1);
  std::int64_t units = 0;  // of 2^-17
  TestType of_64{};
  for (std::int64_t i = 0; i < 100'000; ++i) {
    auto const x = state.arrays(0).x[i];
    REQUIRE(std::abs(x) <= 1);
    REQUIRE(x * 0x1p17F == std::floor(x * 0x1p17F));
    units += static_cast<std::int64_t>(x * 0x1p17F);
    of_64 = i % 64 == 0 ? x : of_64 + x;
    REQUIRE(of_64 * 0x1p17F == std::floor(of_64 * 0x1p17F));
  }
  workloads::enqueue(work, where, state);
  CHECK(workloads::verify(work, state).value_or("right") == "right");
  CHECK(*state.arrays(0).sum == static_cast<double>(units) * 0x1p-17);
}

TEST_CASE("one element more or less in a sum is caught", "[workload]") {
  workloads::streaming_sum<float> const work{.elements = 100'003};
  auto where = make_lane(0);
  auto state = workloads::prepare(work, where, 1);
  auto* const x = const_cast<float*>(state.arrays(0).x);
  auto const kept = x[77];
  x[77] += 0x1p-17F;
  workloads::enqueue(work, where, state);
  CHECK_THAT(workloads::verify(work, state).value_or("right"),
             contains("lane 0: element 0 of array 3 is "));
  x[77] = kept;
  workloads::enqueue(work, where, state);
  CHECK(workloads::verify(work, state).value_or("right") == "right");
}

TEST_CASE("one wrong word of a gather or a transpose is caught and named", "[workload]") {
  auto where = make_lane(0);
  workloads::row_gather const gather{.rows = 50, .table_rows = 9, .row_bytes = 64};
  auto rows = workloads::prepare(gather, where, 1);
  workloads::enqueue(gather, where, rows);
  rows.arrays(0).out[8 * 31 + 5] ^= 1U;
  CHECK_THAT(workloads::verify(gather, rows).value_or("right"),
             contains("lane 0: element 253 of array 2 is "));

  workloads::transpose const turn{.rows = 40, .columns = 70};
  auto matrix = workloads::prepare(turn, where, 1);
  workloads::enqueue(turn, where, matrix);
  matrix.arrays(0).out[40 * 69 + 39] ^= 1U;
  CHECK_THAT(workloads::verify(turn, matrix).value_or("right"),
             contains("lane 0: element 2799 of array 1 is "));
}

TEST_CASE("the reference of scale_add rounds once", "[workload]") {
  auto const result = []<class T>(T scale, T x, T y) {
    double expected = 0;
    double allowed = 0;
    workloads::scale_add<T>{.scale = scale}.reference({&x, &y}, std::span{&expected, 1},
                                                      std::span{&allowed, 1});
    return std::pair{expected, allowed};
  };
  CHECK(result(2.0, 3.0, 4.0) == std::pair{10.0, 0.0});
  CHECK(result(1 + 0x1p-52, 1 + 0x1p-52, -1.0).first == 0x1p-51 + 0x1p-104);  // fused
  CHECK(result(1.25F, 3e38F, 0.0F).first == std::numeric_limits<double>::infinity());
  CHECK(result(1.0F, 1.0F, 0x1p-25F).first == 1.0);
  CHECK(result(2.0F, 3.0F, 4.0F).second >= 10 * 0x1p-24);
  CHECK(result(2.0F, 3.0F, 4.0F).second <= 10 * 0x1p-22);
}

TEST_CASE("traffic counts what must move", "[workload]") {
  CHECK(workloads::streaming_sum<float>{.elements = 100}.item_traffic().bytes_read == 400);
  CHECK(workloads::row_gather{.rows = 10, .row_bytes = 64}.item_traffic().bytes() == 1320);
  CHECK(workloads::transpose{.rows = 3, .columns = 5}.item_traffic().bytes() == 120);
  CHECK(workloads::scale_add<double>{.elements = 4}.item_traffic().bytes() == 96);
  CHECK(workloads::scale_add<double>{.elements = 4}.item_traffic().flops == 8);
}
