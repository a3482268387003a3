// SPDX-License-Identifier: Apache-2.0
// assay-architectures: 90a
// assay-test-timeout: 1200
/// @file
/// Products of matrices on the device: every strategy and number of stages, at sizes that fill no
/// tile. Inputs whose sums are exact say of each element whether it is right, to the last bit.
#include "change_device_value.hpp"
#include "device_array.hpp"
#include "examples/workloads/matmul_battery.cuh"

#include <assay/measure/instruments.cuh>
#include <assay/rig.hpp>

#include <iostream>

using namespace assay;
using assay::test::check_strategy;
using assay::test::contains;
using assay::test::lane_type;
using assay::test::place;
using assay::test::runs_here;

TEMPLATE_TEST_CASE("float products are right, whatever brings the tiles", "[workload][gpu]",
                   copy::regular<>, (copy::regular<4, 2>), (copy::regular<8, 8>), copy::cp_async<1>,
                   copy::cp_async<2>, copy::cp_async<3>, copy::cp_async<4>, copy::bulk<1>,
                   copy::bulk<2>, copy::bulk<3>, copy::bulk<4>) {
  check_strategy<float, TestType>();
}

TEMPLATE_TEST_CASE("bfloat16 products are right, whatever brings the tiles", "[workload][gpu]",
                   copy::regular<>, (copy::regular<4, 2>), (copy::regular<8, 8>), copy::cp_async<1>,
                   copy::cp_async<2>, copy::cp_async<3>, copy::cp_async<4>, copy::bulk<1>,
                   copy::bulk<2>, copy::bulk<3>, copy::bulk<4>) {
  check_strategy<bfloat16, TestType>();
}

TEST_CASE("many products follow each other on one stream, and each is right", "[workload][gpu]") {
  using strategy = copy::cp_async<4>;
  workloads::matmul<bfloat16> const work{.m = 400, .n = 800, .k = 200, .exact = true};
  if (test::racecheck() || !runs_here(work, strategy{})) { return; }
  stream const on{place};
  lane_type<strategy> where{place, on, mr::async{}.open(place), 0};
  auto state = workloads::prepare(work, where, 1);
  for (int i = 0; i < (test::small() ? 3 : 200); ++i) { workloads::enqueue(work, where, state); }
  where.synchronize();
  CHECK(workloads::verify(work, state).value_or("right") == "right");
}

TEMPLATE_TEST_CASE("a corrupted element is caught and named on the device", "[workload][gpu]",
                   float, bfloat16) {
  using strategy = copy::cp_async<2>;
  workloads::matmul<TestType> const work{.m = 130, .n = 70, .k = 40, .exact = true};
  if (test::racecheck() || !runs_here(work, strategy{})) { return; }
  stream const on{place};
  lane_type<strategy> where{place, on, mr::async{}.open(place), 0};
  auto state = workloads::prepare(work, where, 1);
  CHECK_THAT(workloads::verify(work, state).value_or("right"),
             contains("lane 0: row 0, column 0: got"));
  workloads::enqueue(work, where, state);
  where.synchronize();
  REQUIRE(workloads::verify(work, state).value_or("right") == "right");
  test::change_device_value(
      state.arrays(0).c + 129 * copy::chunked_pitch<TestType>(70) + 69,
      [](TestType value) { return static_cast<TestType>(static_cast<float>(value) + 1.0F); });
  CHECK_THAT(workloads::verify(work, state).value_or("right"),
             contains("lane 0: row 129, column 69: got"));
}

TEMPLATE_TEST_CASE("nothing is written beside the result", "[workload][gpu]", float, bfloat16) {
  using strategy = copy::cp_async<2>;
  // 13 columns: a row ends within the 16 bytes of its last store.
  workloads::matmul<TestType> const work{.m = 129, .n = 13, .k = 33, .exact = true};
  if (test::racecheck() || !runs_here(work, strategy{})) { return; }
  stream const on{place};
  lane_type<strategy> where{place, on, mr::async{}.open(place), 0};
  auto state = workloads::prepare(work, where, 1);
  workloads::enqueue(work, where, state);
  where.synchronize();
  REQUIRE(workloads::verify(work, state).value_or("right") == "right");
  auto const pitch = static_cast<std::size_t>(copy::chunked_pitch<TestType>(13));
  std::vector<unsigned char> all(129 * pitch * sizeof(TestType));
  check(cudaMemcpy(all.data(), state.arrays(0).c, all.size(), cudaMemcpyDefault));
  for (std::size_t row = 0; row < 129; ++row) {
    for (auto at = 13 * sizeof(TestType); at < pitch * sizeof(TestType); ++at) {
      REQUIRE(all[row * pitch * sizeof(TestType) + at] == workloads::matmul_poison);
    }
  }
}

TEST_CASE("a large product is right by samples and by Freivalds", "[workload][gpu]") {
  using strategy = copy::cp_async<3>;
  workloads::matmul<float> const work{.m = 4096, .n = 4096, .k = 4096, .exact = true};
  if (test::small() || !runs_here(work, strategy{})) { return; }
  stream const on{place};
  lane_type<strategy> where{place, on, mr::async{}.open(place), 0};
  auto state = workloads::prepare(work, where, 1);
  workloads::enqueue(work, where, state);
  where.synchronize();
  CHECK(workloads::verify(work, state).value_or("right") == "right");
}

TEST_CASE("a pipeline runs matmul by the strategy that it names", "[workload][gpu]") {
  if (test::racecheck()) { return; }
  workloads::matmul<bfloat16> const work{.m = 200, .n = 300, .k = 100};
  if (runs_here(work, copy::cp_async<3>{})) {
    rig made{pipeline{work, place, copy::cp_async<3>{}, mr::async{}}};
    CHECK(made.verify().value_or("right") == "right");
  }
  rig plain{pipeline{workloads::matmul<float>{.m = 200, .n = 300, .k = 100}, place, mr::async{}}};
  CHECK(plain.verify().value_or("right") == "right");
}

TEST_CASE("what matmul cannot do on a device is refused", "[workload][gpu]") {
  examples::device_array<float> const memory{1 << 12};
  auto const view = [&](int offset, int rows, int cols, std::int64_t pitch) {
    return copy::matrix_view<float>{memory.get() + offset, rows, cols, pitch};
  };
  using inputs = workloads::matmul_inputs<float>;
  CHECK_THROWS_WITH((inputs{view(1, 4, 4, 4), view(0, 4, 4, 4), false}),
                    contains("begins 4 bytes after a multiple of 16"));
  CHECK_THROWS_WITH((inputs{view(0, 4, 4, 5), view(0, 4, 4, 4), false}),
                    contains("pitch of 5 elements"));
  CHECK_THROWS_WITH((inputs{view(0, 4, 4, 4), view(0, 8, 4, 4), false}),
                    contains("A has 4 columns and B has 8 rows"));
  if (place_traits<on::device>::capability(place) < 90) { return; }
  using too_many = copy::bulk<16>;
  CHECK_THROWS_WITH((workloads::matmul_shape_on<float, too_many>(place)),
                    contains("bytes of shared memory for matmul") && contains("use at most"));
}

TEST_CASE("a build for sm_90a multiplies bfloat16 by wgmma on a device of 9.0", "[workload][gpu]") {
  auto const& how = workloads::matmul_shape_on<bfloat16, copy::cp_async<2>>(place);
  std::cout << "bfloat16 by " << how.instruction << ", tiles of " << how.tile.row << " x "
            << how.tile.col << ", " << how.threads << " threads\n";
  if (place_traits<on::device>::capability(place) == 90) { CHECK(how.instruction == "wgmma"); }
}
