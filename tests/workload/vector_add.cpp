// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
#include "workload/element_wise_battery.hpp"

#include <assay/memory/heap.hpp>
#include <assay/rig.hpp>
#include <assay/submit/threaded.hpp>

#include <bit>
#include <span>

using namespace assay;
using assay::test::contains;

namespace {

using host_lane_type = lane<on::host, host_stream, mr::heap_resource>;

host_lane_type make_lane(int index, int threads = 1) {
  return {on::host{threads}, host_stream{}, mr::heap_resource{}, index};
}

/// The smallest change that a value can have.
template <class T>
void flip_lowest(T& value) {
  if constexpr (sizeof(T) == 4) {
    value = std::bit_cast<T>(std::bit_cast<std::uint32_t>(value) ^ 1U);
  } else {
    value = std::bit_cast<T>(std::bit_cast<std::uint64_t>(value) ^ 1U);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("vector_add is right on host lanes", "[workload]", float, double, std::int32_t) {
  using work = workloads::vector_add<TestType>;
  static_assert(workload_on<work, host_lane_type>);
  for (int const threads : {1, 3}) {
    test::check_elements_battery<work>(make_lane(0, threads), make_lane(1, threads), [](work&) {});
  }
}

TEMPLATE_TEST_CASE("one wrong bit of a sum is caught and named", "[workload]", float, double,
                   std::int32_t) {
  test::check_elements_corruption<workloads::vector_add<TestType>>(
      make_lane(0), make_lane(1),
      [](auto& state, int lane, std::int64_t at) { flip_lowest(state.arrays(lane).output[at]); });
}

TEST_CASE("the reference wraps integers and rounds floats once", "[workload]") {
  auto const sum = []<class T>(T x, T y) {
    double expected = 0;
    double error = 1;
    workloads::vector_add<T>{}.reference({&x, &y}, std::span{&expected, 1}, std::span{&error, 1});
    CHECK(error == 0);
    return expected;
  };
  CHECK(sum(2'147'483'647, 1) == -2'147'483'648.0);
  CHECK(sum(-2'147'483'647 - 1, -1) == 2'147'483'647.0);
  CHECK(sum(-3, 5) == 2);
  CHECK(sum(16'777'216.0F, 1.0F) == 16'777'216.0);  // to even
  CHECK(sum(16'777'216.0F, 1.5F) == 16'777'218.0);
  CHECK(sum(0.1, 0.2) == 0.1 + 0.2);
}

TEST_CASE("vector_add counts DRAM bytes and link bytes", "[workload]") {
  auto const moved = workloads::vector_add<float>{.elements = 1000}.item_traffic();
  CHECK(moved == traffic{8000, 4000, 1000, 8000, 4000});
  CHECK(moved * 3 + moved == traffic{32000, 16000, 4000, 32000, 16000});
  CHECK(workloads::vector_add<double>{.elements = 10}.item_traffic().to_device_bytes == 160);
}

TEST_CASE("vector_add refuses what is impossible and tells what it is", "[workload]") {
  using work = workloads::vector_add<float>;
  auto where = make_lane(0);
  CHECK_THROWS_WITH((workloads::prepare(work{.elements = -1}, where, 1)),
                    contains("elements = -1") && contains("0 to 2^40"));
  CHECK_THROWS_WITH((workloads::prepare(work{.elements = 1}, where, 0)), contains("lanes = 0"));
  float x[2] = {1, 2};
  CHECK_THROWS_WITH((workloads::prepare(
                        work{.data = workloads::arrays_view<float, 2>{{x, nullptr}, 2}}, where, 1)),
                    contains("2 elements") && contains("no address"));
  CHECK_THROWS_WITH(
      (workloads::prepare(work{.data = workloads::arrays_view<float, 2>{{x, x}, 2, x}}, where, 2)),
      contains("one lane"));
  CHECK_THROWS_WITH(
      (workloads::prepare(work{.data = workloads::arrays_view<float, 2>{{x, x}, 2, x}}, where, 1)),
      contains("one of the inputs"));
  CHECK(describe(work{.elements = 7}) == "vector_add<float>{elements=7}");
  CHECK(describe(work{.data = workloads::arrays_view<float, 2>{{x, x}, 2}}) ==
        "vector_add<float>{elements=2, caller's arrays}");
  CHECK(describe(workloads::vector_add<std::int32_t>{.elements = 7}) ==
        "vector_add<int32>{elements=7}");
}

TEST_CASE("a wrong element is told with what it is and what it should be", "[workload]") {
  auto where = make_lane(0);
  std::int32_t const x[3] = {1, 2, 3};
  std::int32_t const y[3] = {10, 20, 30};
  workloads::vector_add<std::int32_t> work;
  work.data = workloads::arrays_view<std::int32_t, 2>{{x, y}, 3};
  auto state = workloads::prepare(work, where, 1);
  workloads::enqueue(work, where, state);
  state.arrays(0).output[1] = 5;
  CHECK(workloads::verify(work, state).value_or("right") ==
        "lane 0: element 1 of array 2 is 5, expected 22 (tolerance 0; 1 of 3 elements is wrong, by "
        "17); "
        "worst error: 17, where no error is permitted, at element 1 of array 2");
}

TEST_CASE("vector_add runs in a rig on the host", "[workload]") {
  rig host{pipeline{workloads::vector_add<double>{.elements = 10'000}, on::host{2},
                    submit::concurrent{.threads = 2, .items = 3}}};
  host.run();
  CHECK(!host.verify().has_value());
}
