// SPDX-License-Identifier: Apache-2.0
#include "change_device_value.hpp"
#include "small_sizes.hpp"
#include "workload/null_cast_battery.hpp"
#include "workload/null_cast_passes.hpp"

#include <assay/core/stream.hpp>
#include <assay/memory/async.hpp>
#include <assay/memory/managed.hpp>
#include <assay/memory/pinned.hpp>
#include <assay/verify.cuh>
#include <assay/workload/null_cast.cuh>
#include <assay/workload/null_cast_kernels.cuh>

#include <algorithm>
#include <vector>

using namespace assay;

namespace {

constexpr on::device place{0};

template <class Memory>
using device_lane_type = lane<on::device, ::cuda::stream_ref, Memory>;

using async_lane = device_lane_type<mr::async_resource>;

/// Two lanes with streams and one memory resource.
template <class Policy>
struct two_lanes {
  stream first_stream{place};
  stream second_stream{place};
  decltype(Policy{}.open(place)) memory = Policy{}.open(place);

  auto lane(int index) const {
    return device_lane_type<decltype(memory)>{place, index == 0 ? first_stream : second_stream,
                                              memory, index};
  }
};

template <class T>
void flip(T* device, std::int64_t index, T bits) {
  test::change_device_value(device + index,
                            [bits](T value) { return static_cast<T>(value ^ bits); });
}

struct device_access {
  template <class State>
  void flip_value(State& state, int lane, std::int64_t row) const {
    auto* values = state.arrays(lane).out;
    flip(reinterpret_cast<std::uint64_t*>(values), row, std::uint64_t{1});
  }
  template <class State>
  void flip_bit(State& state, int lane, std::int64_t row) const {
    auto* mask = state.arrays(lane).out_mask;
    flip(mask, row / 32, 1U << (row % 32));
  }
};

/// Every kernel by itself, compiled like this, on columns whose last tile is not full.
template <class T, class Tuning, class CopyTuning>
void check_kernels() {
  auto const factory = [](setup& make, std::size_t n) {
    test::pass_arrays<T, std::uint32_t> const all{make.align(16), n};
    return [=, rows = static_cast<std::int64_t>(n)](cudaStream_t on) {
      kernel::launch_is_valid<Tuning>(on, rows, all.mask.data(), all.bools.data());
      kernel::launch_copy_if_else<T, CopyTuning>(on, rows, all.taken.data(), all.values.data(),
                                                 all.mask.data(), all.scalar, all.data.data(),
                                                 all.data_mask.data());
      kernel::launch_cast<T, Tuning>(on, rows, all.values.data(), all.mask.data(), all.out.data(),
                                     all.out_mask.data());
      kernel::launch_null_cast_fused<T, Tuning>(on, rows, all.values.data(), all.mask.data(),
                                                all.fused.data());
    };
  };
  auto const seen = verify(
      factory,
      {.seed = test::fresh_seed(),
       .only = test::small_sizes({0, 1, 31, 33, 511, 512, 513, 1023, 8191, 8193, 70'001}, 513)});
  REQUIRE(seen);
}

}  // namespace

TEMPLATE_TEST_CASE("null_cast is right on device lanes", "[workload][gpu]", std::int32_t,
                   std::int64_t, float) {
  static_assert(workload_on<workloads::null_cast<TestType>, async_lane>);
  static_assert(workload_on<workloads::null_cast_fused<TestType>, async_lane>);
  two_lanes<mr::async> const lanes;
  test::check_battery<workloads::null_cast<TestType>>(lanes.lane(0), lanes.lane(1));
  test::check_battery<workloads::null_cast_fused<TestType>>(lanes.lane(0), lanes.lane(1));
}

TEMPLATE_TEST_CASE("a corrupted output is caught and named on device lanes", "[workload][gpu]",
                   std::int32_t, std::int64_t, float) {
  two_lanes<mr::async> const lanes;
  test::check_corruption<workloads::null_cast<TestType>>(device_access{}, lanes.lane(0),
                                                         lanes.lane(1));
  test::check_corruption<workloads::null_cast_fused<TestType>>(device_access{}, lanes.lane(0),
                                                               lanes.lane(1));
}

TEMPLATE_TEST_CASE("each kernel is right however it is tuned", "[workload][gpu]", std::int32_t,
                   std::int64_t, float) {
  using kernel::tuning;
  constexpr int narrow = sizeof(TestType);    // packs of copy_if_else for tiles of 512 rows
  constexpr int wide = 2 * sizeof(TestType);  // and of 1024
  check_kernels<TestType, tuning<32, 1>, tuning<32, narrow>>();
  check_kernels<TestType, tuning<256, 8, true>, tuning<256, wide, true>>();
  check_kernels<TestType, tuning<512, 16>, tuning<512, narrow>>();
  check_kernels<TestType, tuning<1024, 4, true>, tuning<1024, wide, true>>();
}

TEMPLATE_TEST_CASE("null_cast takes its temporaries wherever its lane has them", "[workload][gpu]",
                   mr::managed, mr::pinned) {
  two_lanes<TestType> const lanes;
  workloads::null_cast<std::int64_t> const work{.rows = 4097};
  test::check_null_cast_runs(work, lanes.lane(0), lanes.lane(1));
}

TEST_CASE("inputs of equal workloads are equal, and their addresses vary", "[workload][gpu]") {
  two_lanes<mr::async> const lanes;
  auto where = lanes.lane(0);
  workloads::null_cast<std::int32_t> const work{.rows = 1000};
  std::vector<std::uintptr_t> offsets;
  for (int i = 0; i < 8; ++i) {
    auto const state = workloads::prepare(work, where, 1);
    offsets.push_back(reinterpret_cast<std::uintptr_t>(state.arrays(0).values) % (1U << 20U));
    CHECK(offsets.back() % 256 == 0);
    std::vector<std::int32_t> got(1000);
    check(cudaMemcpy(got.data(), state.arrays(0).values, 4000, cudaMemcpyDefault));
    auto const column = workloads::generated_column<std::int32_t>({1000, 0.1, work.seed});
    CHECK(std::equal(got.begin(), got.end(), column->view().values));
  }
  std::sort(offsets.begin(), offsets.end());
  CHECK(std::unique(offsets.begin(), offsets.end()) - offsets.begin() >= 4);
}

TEST_CASE("what does not fit on the card is refused, and leaves nothing behind",
          "[workload][gpu]") {
  if (std::getenv("ASSAY_SMALL") != nullptr) { return; }
  two_lanes<mr::async> const lanes;
  auto where = lanes.lane(0);
  workloads::null_cast<std::int64_t> const small{.rows = 1000};
  auto state = workloads::prepare(small, where, 1);
  std::size_t before = 0, after = 0, total = 0;
  check(cudaMemGetInfo(&before, &total));
  // the input fits; the outputs of so many lanes do not
  auto const rows = std::int64_t{1} << 24;
  auto const lanes_needed = static_cast<int>(total / (static_cast<std::size_t>(rows) * 8)) + 1;
  CHECK_THROWS_AS(
      (workloads::prepare(workloads::null_cast<std::int64_t>{.rows = rows}, where, lanes_needed)),
      mr::out_of_memory);
  check(cudaMemGetInfo(&after, &total));
  CHECK(after + (64U << 20U) >= before);
  workloads::enqueue(small, where, state);  // and the context still works
  where.synchronize();
  CHECK_FALSE(workloads::verify(small, state).has_value());
}
