// SPDX-License-Identifier: Apache-2.0
#include "change_device_value.hpp"
#include "device_array.hpp"
#include "workload/null_cast_battery.hpp"

#include <assay/arrays/agreement.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/async.hpp>
#include <assay/memory/managed.hpp>
#include <assay/memory/pinned.hpp>
#include <assay/workload/null_cast.cuh>
#include <assay/workload/null_cast_kernels.cuh>

#include <algorithm>
#include <cstring>
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

/// Device memory with a fence behind it that kernels must not touch.
template <class T>
class fenced {
 public:
  static constexpr std::size_t fence = 64;

  explicit fenced(std::size_t used) : used_(used), memory_(used + fence) {
    check(cudaMemset(memory_.get(), 0x5A, (used + fence) * sizeof(T)));
  }
  T* get() const { return memory_.get(); }

  /// What is in use, once the fence was found whole.
  std::vector<T> read() const {
    std::vector<T> all(used_ + fence);
    check(cudaMemcpy(all.data(), get(), all.size() * sizeof(T), cudaMemcpyDefault));
    std::vector<unsigned char> const mark(fence * sizeof(T), 0x5A);
    CHECK(std::memcmp(all.data() + used_, mark.data(), mark.size()) == 0);
    all.resize(used_);
    return all;
  }

 private:
  std::size_t used_;
  examples::device_array<T> memory_;
};

template <class T>
fenced<T> upload(void const* from, std::size_t bytes) {
  fenced<T> to{(bytes + sizeof(T) - 1) / sizeof(T)};
  if (bytes > 0) { check(cudaMemcpy(to.get(), from, bytes, cudaMemcpyDefault)); }
  return to;
}

/// Every kernel by itself, compiled like this, on columns whose last tile is not full.
template <class T, class Tuning, class CopyTuning>
void check_kernels(std::uint64_t seed) {
  stream const on{place};
  for (std::int64_t const rows : {0, 1, 31, 33, 511, 512, 513, 1023, 8191, 8193, 70'001}) {
    INFO("rows " << rows);
    test::nasty_column<T> const in{rows, 0.4, seed};
    auto const n = static_cast<std::size_t>(rows);
    auto const words = (n + 31) / 32;
    auto const values = upload<T>(in.values.data(), n * sizeof(T));
    auto const mask = upload<std::uint32_t>(in.mask.data(), in.mask.size());
    fenced<std::uint8_t> bools{n};
    fenced<T> data{n};
    fenced<std::uint32_t> data_mask{words};
    fenced<double> out{n};
    fenced<std::uint32_t> out_mask{words};
    fenced<double> fused{n};
    check(cudaDeviceSynchronize());

    kernel::launch_is_valid<Tuning>(on, rows, mask.get(), bools.get());
    kernel::launch_copy_if_else<T, CopyTuning>(on, rows, bools.get(), values.get(), mask.get(),
                                               T{3}, data.get(), data_mask.get());
    kernel::launch_cast<T, Tuning>(on, rows, data.get(), data_mask.get(), out.get(),
                                   out_mask.get());
    kernel::launch_null_cast_fused<T, Tuning>(on, rows, values.get(), mask.get(), fused.get());
    on.synchronize();

    auto const got_bools = bools.read();
    auto const got_mask = out_mask.read();
    auto const got = out.read();
    auto const got_fused = fused.read();
    (void)data.read();
    (void)data_mask.read();
    for (std::int64_t row = 0; row < rows; ++row) {
      auto const i = static_cast<std::size_t>(row);
      bool const valid = workloads::is_valid(in.mask.data(), row);
      double expected = 0;
      workloads::null_cast_reference(in.values.data(), in.mask.data(), row, row + 1, &expected);
      REQUIRE(got_bools[i] == (valid ? 1 : 0));
      REQUIRE((got_mask[i / 32] >> (i % 32) & 1U) == 1U);
      REQUIRE(arrays::detail::same_result(got[i], valid ? expected : 3.0));
      REQUIRE(arrays::detail::same_result(got_fused[i], expected));
    }
  }
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
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  check_kernels<TestType, tuning<32, 1>, tuning<32, narrow>>(seed);
  check_kernels<TestType, tuning<256, 8, true>, tuning<256, wide, true>>(seed);
  check_kernels<TestType, tuning<512, 16>, tuning<512, narrow>>(seed);
  check_kernels<TestType, tuning<1024, 4, true>, tuning<1024, wide, true>>(seed);
}

TEST_CASE("copy_if_else takes the validity of what it takes", "[workload][gpu]") {
  // The bools need not be is_valid of the same column: a null that is taken stays null.
  constexpr std::int64_t rows = 1100;
  std::vector<std::uint8_t> bools(rows), mask((rows + 7) / 8);
  std::vector<std::int32_t> values(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    values[i] = static_cast<std::int32_t>(i);
    bools[i] = i % 2 != 0;
    if (i % 3 == 0) { mask[i / 8] |= static_cast<std::uint8_t>(1U << (i % 8)); }
  }
  stream const on{place};
  auto const device_bools = upload<std::uint8_t>(bools.data(), bools.size());
  auto const device_mask = upload<std::uint32_t>(mask.data(), mask.size());
  auto const device_values = upload<std::int32_t>(values.data(), rows * 4);
  fenced<std::int32_t> data{rows};
  fenced<std::uint32_t> data_mask{(rows + 31) / 32};
  check(cudaDeviceSynchronize());
  kernel::launch_copy_if_else<std::int32_t, kernel::tuning<256, 8>>(
      on, rows, device_bools.get(), device_values.get(), device_mask.get(), -1, data.get(),
      data_mask.get());
  on.synchronize();
  auto const got = data.read();
  auto const got_mask = data_mask.read();
  for (std::size_t i = 0; i < rows; ++i) {
    REQUIRE(got[i] == (i % 2 != 0 ? static_cast<int>(i) : -1));
    REQUIRE((got_mask[i / 32] >> (i % 32) & 1U) == (i % 2 == 0 || i % 3 == 0 ? 1U : 0U));
  }
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
