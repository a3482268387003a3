// SPDX-License-Identifier: Apache-2.0
/// @file
/// The workloads that take a copy strategy, with each strategy, at every size and under caps.

#include "change_device_value.hpp"
#include "copy/runs_here.hpp"
#include "examples/workloads/copied_battery.hpp"
#include "workload/element_wise_battery.hpp"
#include "workloads/row_gather.cuh"
#include "workloads/scale_add.cuh"
#include "workloads/streaming_sum.cuh"
#include "workloads/transpose.cuh"

#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/rig.hpp>
#include <assay/verify.cuh>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

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

auto const as_it_is = [](auto&) {};
/// Few blocks, so that each walks many tiles.
auto const capped = [](auto& work) {
  work.max_sms = 2;
  work.threads = 128;
};
auto const wide = [](auto& work) { work.threads = 512; };

/// Calls `check` with two lanes, where a workload can run with a strategy once it is adjusted.
template <class Strategy, class Work, class Adjust, class Check>
void where_it_runs(Work work, Adjust const& adjust, Check const& check) {
  adjust(work);
  if (!runs_here(work, Strategy{})) { return; }
  two_lanes<Strategy> const lanes;
  check(lanes(0), lanes(1), adjust);
}

/// Changes one bit in device memory.
void flip_bit(void* at) {
  test::change_device_value(static_cast<unsigned char*>(at), [](unsigned char byte) {
    return static_cast<unsigned char>(byte ^ 1U);
  });
}

}  // namespace

TEMPLATE_TEST_CASE("sums are exact with every strategy", "[workload][copy]", (copy::regular<>),
                   (copy::regular<4, 1>), (copy::regular<16, 8>), copy::cp_async<2>,
                   copy::cp_async<3>, copy::bulk<1>, copy::bulk<4>) {
  static_assert(workload_on<workloads::streaming_sum<float>, device_lane_type<TestType>>);
  auto const floats = [](auto... of) { check_sums<float>(of...); };
  auto const doubles = [](auto... of) { check_sums<double>(of...); };
  where_it_runs<TestType>(workloads::streaming_sum<float>{}, as_it_is, floats);
  where_it_runs<TestType>(workloads::streaming_sum<float>{}, capped, floats);
  where_it_runs<TestType>(workloads::streaming_sum<double>{}, wide, doubles);
}

TEMPLATE_TEST_CASE("sums of arrays that begin anywhere are exact", "[workload][copy]",
                   (copy::regular<>), copy::cp_async<2>, copy::bulk<4>) {
  using sum_type = workloads::streaming_sum<float>;
  if (!runs_here(sum_type{}, TestType{})) { return; }
  auto const factory = [](setup& make, std::size_t count) {
    constexpr std::int32_t steps = 1 << 17;
    auto const x = make.random_multiples<float>(count + 8, {-steps, steps - 1}, 0x1p-17F);
    auto const of_block = make.scratch<double>(sum_type::most_blocks);
    auto const arrived = make.zeros<unsigned>(1);
    auto const sums = make.output<double>(9);
    auto const from = [=](std::size_t first) {
      double sum = 0;
      for (std::size_t i = first; i < first + count; ++i) { sum += double{x.seeded(i)}; }
      return sum;
    };
    make.expect(sums, from, tolerance{});
    return [=, n = static_cast<std::int64_t>(count)](cudaStream_t on) {
      for (std::size_t first = 0; first < sums.size(); ++first) {
        kernel::launch_sum<TestType>(place, on, x.data() + first, n, 0, 256,
                                     {of_block.data(), arrived.data(), sums.data() + first});
      }
    };
  };
  auto const seen =
      verify(factory, {.seed = fresh_seed(), .only = {0, 1, 2, 3, 4, 5, 9, 1027, 9000}});
  REQUIRE(seen);
}

TEMPLATE_TEST_CASE("gathers are right with every strategy", "[workload][copy]", (copy::regular<>),
                   (copy::regular<8, 1>), copy::cp_async<2>, copy::cp_async<3>, copy::bulk<1>,
                   copy::bulk<4>) {
  auto const gathers = [](auto... of) { check_gathers(of...); };
  where_it_runs<TestType>(workloads::row_gather{}, as_it_is, gathers);
  where_it_runs<TestType>(workloads::row_gather{}, capped, gathers);
}

TEMPLATE_TEST_CASE("transposes are right with every strategy", "[workload][copy]",
                   (copy::regular<>), (copy::regular<4, 2>), copy::cp_async<2>, copy::bulk<1>,
                   copy::bulk<3>) {
  auto const transposes = [](auto... of) { check_transposes(of...); };
  where_it_runs<TestType>(workloads::transpose{}, as_it_is, transposes);
  where_it_runs<TestType>(workloads::transpose{}, capped, transposes);
}

TEMPLATE_TEST_CASE("scale_add is right with every strategy", "[workload][copy]", (copy::regular<>),
                   (copy::regular<16, 1>), copy::cp_async<2>, copy::bulk<4>) {
  using workloads::scale_add;
  auto const floats = [](auto... of) { check_elements_battery<scale_add<float>>(of...); };
  auto const doubles = [](auto... of) { check_elements_battery<scale_add<double>>(of...); };
  where_it_runs<TestType>(scale_add<float>{}, as_it_is, floats);
  where_it_runs<TestType>(scale_add<double>{}, capped, doubles);
  auto const corrupted = [](auto first, auto second, auto) {
    check_elements_corruption<scale_add<float>>(
        first, second, [](auto& state, int lane, std::int64_t at) {
          test::change_device_value(state.arrays(lane).output + at,
                                    [](float value) { return value + 1.0F / 1024; });
        });
  };
  where_it_runs<TestType>(scale_add<float>{}, as_it_is, corrupted);
}

TEST_CASE("one wrong bit on the device is caught", "[workload][copy]") {
  two_lanes<copy::regular<>> const lanes;
  auto where = lanes(0);

  workloads::streaming_sum<float> const sum{.elements = 100'003};
  auto summed = workloads::prepare(sum, where, 1);
  flip_bit(reinterpret_cast<std::byte*>(const_cast<float*>(summed.arrays(0).x) + 99'999) + 2);
  workloads::enqueue(sum, where, summed);
  where.synchronize();
  CHECK_THAT(workloads::verify(sum, summed).value_or("right"),
             contains("lane 0: element 0 of array 3 is "));

  workloads::row_gather const gather{.rows = 50, .table_rows = 9, .row_bytes = 64};
  auto rows = workloads::prepare(gather, where, 1);
  workloads::enqueue(gather, where, rows);
  where.synchronize();
  flip_bit(reinterpret_cast<std::byte*>(rows.arrays(0).out) + 64 * 31 + 5);
  CHECK_THAT(workloads::verify(gather, rows).value_or("right"),
             contains("lane 0: element 248 of array 2 is "));

  workloads::transpose const turn{.rows = 40, .columns = 70};
  auto matrix = workloads::prepare(turn, where, 1);
  workloads::enqueue(turn, where, matrix);
  where.synchronize();
  flip_bit(matrix.arrays(0).out + 40 * 69 + 39);
  CHECK_THAT(workloads::verify(turn, matrix).value_or("right"),
             contains("lane 0: element 2799 of array 1 is "));
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
  // What a rig says is what is said of its workload before.
  auto const said = [](auto const& what) -> std::string {
    try {
      rig made{what};
      return made.verify().value_or("right");
    } catch (std::invalid_argument const& error) { return error.what(); }
  };
  auto const expected = [](auto const& what) {
    return workloads::why_unsupported(place, what.work, what.copy).value_or("right");
  };
  CHECK(said(control) == "right");
  auto const by_threads = control.with(copy::cp_async<2>{});
  CHECK(said(by_threads) == expected(by_threads));
  auto const in_bulk = control.with(copy::bulk<4>{});
  CHECK(said(in_bulk) == expected(in_bulk));
  auto const doubles = in_bulk.with(workloads::streaming_sum<double>{.elements = 5000});
  CHECK(said(doubles) == expected(doubles));
  auto const one_of_bulk = kernel::transpose_tiles<copy::bulk<4>, 256>;
  if (kernel::kernel_attributes(one_of_bulk, place).capability >= 90) {
    CHECK(said(in_bulk) == "right");
    auto const too_many =
        control.with(workloads::streaming_sum<float>{.elements = 1 << 20, .threads = 512})
            .with(copy::bulk<16>{});
    CHECK(said(too_many) == expected(too_many));
    CHECK_THAT(said(too_many), contains("copy::bulk<16>: a block of this kernel needs ") &&
                                   contains("bytes of shared memory"));
  } else {
    CHECK_THAT(said(in_bulk), contains("copy::bulk<4> needs "));
  }
}

TEST_CASE("arrays of more than 2^31 elements, and of more than 4 GiB, are read to their end",
          "[workload][copy][large]") {
  if (test::small()) { return; }
  constexpr std::size_t gib = std::size_t{1} << 30;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes));
  if (free_bytes < 9 * gib) {
    WARN("left out: it needs 9 GiB of device memory, and " << free_bytes / gib << " are free");
    return;
  }
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  auto const check_large = [&](auto const& work) {
    two_lanes<copy::regular<>> const lanes;
    auto first = lanes(0);
    auto state = workloads::prepare(work, first, 1);
    auto const run = [&](auto how) {
      if (!runs_here(work, how)) { return; }
      INFO(work.describe() << ", " << describe(how));
      workloads::poison(work, state);
      two_lanes<decltype(how)> const others;
      auto where = others(0);
      workloads::enqueue(work, where, state);
      where.synchronize();
      CHECK(workloads::verify(work, state).value_or("right") == "right");
    };
    run(copy::regular<>{});
    run(copy::cp_async<2>{});
    run(copy::bulk<4>{});
  };
  check_large(
      workloads::streaming_sum<float>{.elements = (std::int64_t{1} << 31) + 100'003, .seed = seed});
  // More than 2^31 vectors, where there is memory for so large a table; else more than 4 GiB.
  std::int64_t const table_rows = free_bytes > 56 * gib ? 3 << 18 : (1 << 16) + 7;
  check_large(workloads::row_gather{
      .rows = (1 << 16) + 3, .table_rows = table_rows, .row_bytes = 1 << 16, .seed = seed});
}
