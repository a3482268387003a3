// SPDX-License-Identifier: Apache-2.0
/// @file
/// The workloads that take a copy strategy, with each strategy, at every size and under caps.

#include "workload/copied_battery.hpp"
#include "workload/element_wise_battery.hpp"

#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/rig.hpp>
#include <assay/workload/row_gather.cuh>
#include <assay/workload/scale_add.cuh>
#include <assay/workload/streaming_sum.cuh>
#include <assay/workload/transpose.cuh>

#include <cstdint>

using namespace assay;
using namespace assay::test;

namespace {

constexpr on::device place{0};

template <class Strategy>
using device_lane_type =
    lane<on::device, cuda::stream_ref, resource_of<mr::async, on::device>, no_transfer, Strategy>;

/// Two lanes with one strategy, on a stream each.
template <class Strategy>
struct two_lanes {
  stream streams[2]{stream{place}, stream{place}};
  device_lane_type<Strategy> operator()(int index) const {
    return {place, streams[index], mr::async{}.open(place), index};
  }
};

template <class Strategy>
bool runs_here() {
  bool const hidden = assay::test::racecheck() && Strategy::capability >= 90;
  return !hidden && place_traits<on::device>::capability(place) >= Strategy::capability;
}

auto const as_it_is = [](auto&) {};
/// Few blocks, so that each walks many tiles.
auto const capped = [](auto& work) {
  work.max_sms = 2;
  work.threads = 128;
};

/// Changes one bit in device memory.
void flip_bit(void* at) {
  unsigned char byte = 0;
  check(cudaMemcpy(&byte, at, 1, cudaMemcpyDefault));
  byte ^= 1U;
  check(cudaMemcpy(at, &byte, 1, cudaMemcpyDefault));
}

}  // namespace

TEMPLATE_TEST_CASE("sums are exact with every strategy", "[workload][copy]", (copy::regular<>),
                   (copy::regular<4, 1>), (copy::regular<16, 8>), copy::cp_async<2>, copy::bulk<1>,
                   copy::bulk<4>) {
  if (!runs_here<TestType>()) { return; }
  static_assert(workload_on<workloads::streaming_sum<float>, device_lane_type<TestType>>);
  two_lanes<TestType> const lanes;
  check_sums<float>(lanes(0), lanes(1), as_it_is);
  check_sums<float>(lanes(0), lanes(1), capped);
  check_sums<double>(lanes(0), lanes(1), [](auto& work) { work.threads = 512; });
}

TEMPLATE_TEST_CASE("sums of arrays that begin anywhere are exact", "[workload][copy]",
                   (copy::regular<>), copy::cp_async<2>, copy::bulk<4>) {
  if (!runs_here<TestType>()) { return; }
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  two_lanes<TestType> const lanes;
  auto where = lanes(0);
  workloads::streaming_sum<float> const work{.elements = 10'000, .seed = seed};
  auto state = work.prepare(where, 1);
  for (std::int64_t first = 0; first < 9; ++first) {
    for (std::int64_t const count : {0, 1, 2, 3, 4, 5, 9, 1027, 9000}) {
      double expected = 0;
      for (auto i = first; i < first + count; ++i) {
        expected += static_cast<double>(workloads::summed_element<float>(seed, i));
      }
      INFO(count << " from " << first);
      kernel::launch_sum<TestType>(place, where.stream, state.input.get() + first, count, 0, 256,
                                   state.target(0));
      where.synchronize();
      REQUIRE(state.sums()[0] == expected);
    }
  }
}

TEMPLATE_TEST_CASE("gathers are right with every strategy", "[workload][copy]", (copy::regular<>),
                   (copy::regular<8, 1>), copy::cp_async<2>, copy::bulk<1>, copy::bulk<4>) {
  if (!runs_here<TestType>()) { return; }
  two_lanes<TestType> const lanes;
  check_gathers(lanes(0), lanes(1), as_it_is);
  check_gathers(lanes(0), lanes(1), capped);
}

TEMPLATE_TEST_CASE("transposes are right with every strategy", "[workload][copy]",
                   (copy::regular<>), (copy::regular<4, 2>), copy::cp_async<2>, copy::bulk<1>,
                   copy::bulk<3>) {
  if (!runs_here<TestType>()) { return; }
  two_lanes<TestType> const lanes;
  check_transposes(lanes(0), lanes(1), as_it_is);
  check_transposes(lanes(0), lanes(1), capped);
}

TEMPLATE_TEST_CASE("scale_add is right with every strategy", "[workload][copy]", (copy::regular<>),
                   (copy::regular<16, 1>), copy::cp_async<2>, copy::bulk<4>) {
  if (!runs_here<TestType>()) { return; }
  two_lanes<TestType> const lanes;
  check_elements_battery<workloads::scale_add<float>>(lanes(0), lanes(1), as_it_is);
  check_elements_battery<workloads::scale_add<double>>(lanes(0), lanes(1), capped);
  check_elements_corruption<workloads::scale_add<float>>(
      lanes(0), lanes(1), [](auto& state, int lane, std::int64_t at) {
        auto* const element = state.outputs[static_cast<std::size_t>(lane)].get() + at;
        float value = 0;
        check(cudaMemcpy(&value, element, sizeof(value), cudaMemcpyDefault));
        value += 1.0F / 1024;
        check(cudaMemcpy(element, &value, sizeof(value), cudaMemcpyDefault));
      });
}

TEST_CASE("one wrong bit on the device is caught", "[workload][copy]") {
  two_lanes<copy::regular<>> const lanes;
  auto where = lanes(0);

  workloads::streaming_sum<float> const sum{.elements = 100'003};
  auto summed = sum.prepare(where, 1);
  flip_bit(reinterpret_cast<std::byte*>(summed.input.get() + 99'999) + 2);
  sum.enqueue(where, summed);
  where.synchronize();
  CHECK_THAT(sum.verify(summed).value_or("right"), contains("lane 0: got "));

  workloads::row_gather const gather{.rows = 50, .table_rows = 9, .row_bytes = 64};
  auto rows = gather.prepare(where, 1);
  gather.enqueue(where, rows);
  where.synchronize();
  flip_bit(rows.outputs[0].get() + 64 * 31 + 5);
  CHECK_THAT(gather.verify(rows).value_or("right"), contains("lane 0, row 31: is not row "));

  workloads::transpose const turn{.rows = 40, .columns = 70};
  auto matrix = turn.prepare(where, 1);
  turn.enqueue(where, matrix);
  where.synchronize();
  flip_bit(matrix.outputs[0].get() + 40 * 69 + 39);
  CHECK_THAT(turn.verify(matrix).value_or("right"), contains("lane 0, row 69: "));
}

TEST_CASE("fields that make no sense are refused", "[workload][copy]") {
  two_lanes<copy::regular<>> const lanes;
  check_copied_refusals(lanes(0));
}

TEST_CASE("a rig runs a workload with each strategy and refuses what is not there",
          "[workload][copy]") {
  if (test::racecheck()) { return; }
  pipeline const control{workloads::transpose{.rows = 300, .columns = 200}, place,
                         submit::sequential{.items = 3}};
  auto const right = [](auto const& what) {
    rig made{what};
    return made.verify().value_or("right");
  };
  CHECK(right(control) == "right");
  auto const found = place_traits<on::device>::capability(place);
  if (found >= 80) {
    CHECK(right(control.with(copy::cp_async<2>{})) == "right");
  } else {
    CHECK_THAT(message_of([&] { right(control.with(copy::cp_async<2>{})); }),
               contains("copy::cp_async<2> needs a device of compute capability 8.0"));
  }
  if (found >= 90) {
    CHECK(right(control.with(copy::bulk<4>{})) == "right");
    CHECK(right(control.with(workloads::streaming_sum<double>{.elements = 5000})
                    .with(copy::bulk<2>{})) == "right");
    CHECK_THAT(
        message_of([&] {
          right(control.with(workloads::streaming_sum<float>{.elements = 1 << 20, .threads = 512})
                    .with(copy::bulk<16>{}));
        }),
        contains("bytes of shared memory"));
  } else {
    CHECK_THAT(message_of([&] { right(control.with(copy::bulk<4>{})); }),
               contains("copy::bulk<4> needs a device of compute capability 9.0"));
  }
}
