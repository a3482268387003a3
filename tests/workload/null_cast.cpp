// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
#include "workload/null_cast_battery.hpp"

#include <assay/memory/heap.hpp>

#include <cmath>

using namespace assay;

namespace {

/// The heap, counted, which fails at a chosen allocation.
struct watched_heap {
  struct counts {
    int allocations = 0, live = 0, fail_at = -1;
    std::vector<std::size_t> bytes;
  };
  std::shared_ptr<counts> seen = std::make_shared<counts>();

  void* allocate(host_stream stream, std::size_t bytes, std::size_t alignment) {
    if (seen->allocations++ == seen->fail_at) { throw mr::out_of_memory("as asked"); }
    ++seen->live;
    seen->bytes.push_back(bytes);
    return mr::heap_resource{}.allocate(stream, bytes, alignment);
  }
  void deallocate(host_stream stream, void* block, std::size_t bytes,
                  std::size_t alignment) noexcept {
    --seen->live;
    mr::heap_resource{}.deallocate(stream, block, bytes, alignment);
  }
  bool operator==(watched_heap const&) const = default;
};

using host_lane_type = lane<on::host, host_stream, watched_heap>;

host_lane_type make_lane(int index, int threads = 1) {
  return {on::host{threads}, host_stream{}, watched_heap{}, index};
}

struct host_access {
  template <class State>
  void flip_value(State& state, int lane, std::int64_t row) const {
    auto& value = state.arrays(lane).out[row];
    value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ 1U);
  }
  template <class State>
  void flip_bit(State& state, int lane, std::int64_t row) const {
    state.arrays(lane).out_mask[row / 32] ^= 1U << (row % 32);
  }
};

template <class T>
void check_bytes(double three, double fused) {
  workloads::null_cast<T> const work{.rows = 1000};
  auto const kernels = work.kernels();
  REQUIRE(kernels.size() == 3);
  auto const s = static_cast<double>(sizeof(T));
  CHECK(kernels[0] == workloads::kernel_traffic{"is_valid", {125, 1000, 0}});
  CHECK(kernels[1] ==
        workloads::kernel_traffic{"copy_if_else", {s * 1000 + 1125, s * 1000 + 125, 0}});
  CHECK(kernels[2] == workloads::kernel_traffic{"cast", {s * 1000 + 125, 8125, 0}});
  CHECK(work.item_traffic().bytes() == three * 1000);
  CHECK(workloads::null_cast_fused<T>{.rows = 1000}.item_traffic().bytes() == fused * 1000);
  CHECK(workloads::null_cast_fused<T>{.rows = 1000}.item_traffic().bytes_written == 8000);
}

}  // namespace

TEMPLATE_TEST_CASE("null_cast is right on host lanes", "[workload]", std::int32_t, std::int64_t,
                   float) {
  static_assert(workload_on<workloads::null_cast<TestType>, host_lane_type>);
  static_assert(workload_on<workloads::null_cast_fused<TestType>, host_lane_type>);
  for (int const threads : {1, 3}) {
    test::check_battery<workloads::null_cast<TestType>>(make_lane(0, threads),
                                                        make_lane(1, threads));
    test::check_battery<workloads::null_cast_fused<TestType>>(make_lane(0, threads),
                                                              make_lane(1, threads));
  }
}

TEMPLATE_TEST_CASE("a corrupted output is caught and named on host lanes", "[workload]",
                   std::int32_t, std::int64_t, float) {
  test::check_corruption<workloads::null_cast<TestType>>(host_access{}, make_lane(0), make_lane(1));
  test::check_corruption<workloads::null_cast_fused<TestType>>(host_access{}, make_lane(0),
                                                               make_lane(1));
}

TEST_CASE("an item takes its temporaries from its lane and gives them back", "[workload]") {
  auto where = make_lane(0);
  workloads::null_cast<std::int64_t> const work{.rows = 1000};
  auto state = workloads::prepare(work, where, 1);
  CHECK(where.memory.seen->allocations == 0);
  workloads::enqueue(work, where, state);
  CHECK(where.memory.seen->bytes == std::vector<std::size_t>{1000, 8000, 128});
  CHECK(where.memory.seen->live == 0);

  for (int const failing : {0, 1, 2}) {
    auto poor = make_lane(0);
    poor.memory.seen->fail_at = failing;
    CHECK_THROWS_AS(workloads::enqueue(work, poor, state), mr::out_of_memory);
    CHECK(poor.memory.seen->live == 0);
  }

  auto spare = make_lane(0);
  workloads::null_cast_fused<std::int64_t> const fused{.rows = 1000};
  auto fused_state = workloads::prepare(fused, spare, 1);
  workloads::enqueue(fused, spare, fused_state);
  CHECK(spare.memory.seen->allocations == 0);
}

TEST_CASE("a lane without an output is refused", "[workload]") {
  auto where = make_lane(1);
  workloads::null_cast<float> const work{.rows = 10};
  auto state = workloads::prepare(work, where, 1);
  CHECK_THROWS_AS(workloads::enqueue(work, where, state), std::out_of_range);
}

TEST_CASE("null_cast counts the bytes that each kernel must move", "[workload]") {
  check_bytes<std::int32_t>(22.625, 12.125);
  check_bytes<float>(22.625, 12.125);
  check_bytes<std::int64_t>(34.625, 16.125);
}

TEST_CASE("null_cast refuses what is impossible and says what is allowed", "[workload]") {
  auto where = make_lane(0);
  using work = workloads::null_cast<std::int32_t>;
  using assay::test::contains;
  CHECK_THROWS_WITH(work{.rows = -1}.validate(), contains("rows = -1") && contains("0 to 2^40"));
  CHECK_THROWS_WITH((workloads::prepare(work{.rows = work::max_rows + 1}, where, 1)),
                    contains("2^40"));
  for (double const bad : {-0.001, 1.001, std::nan(""), HUGE_VAL}) {
    CHECK_THROWS_AS((workloads::prepare(work{.rows = 1, .null_fraction = bad}, where, 1)),
                    std::invalid_argument);
  }
  CHECK_THROWS_WITH((work{.null_fraction = 1.5}.validate()),
                    contains("null_fraction = 1.5") && contains("0 to 1"));
  CHECK_THROWS_WITH(
      (work{.input = workloads::column_view<std::int32_t>{nullptr, nullptr, 3}}.validate()),
      contains("3 rows but no values"));
  CHECK_THROWS_WITH((workloads::prepare(work{.rows = 1}, where, 0)), contains("lanes = 0"));
}

TEST_CASE("null_cast tells what it is", "[workload]") {
  CHECK(describe(workloads::null_cast<std::int32_t>{}) ==
        "null_cast<int32>{rows=2684354, null_fraction=0.1}");
  float const one = 1;
  CHECK(describe(workloads::null_cast_fused<float>{
            .input = workloads::column_view<float>{&one, nullptr, 1}}) ==
        "null_cast_fused<float>{rows=1, caller's column}");
  CHECK(workloads::null_cast<std::int64_t>{.rows = 5} ==
        workloads::null_cast<std::int64_t>{.rows = 5});
  CHECK(workloads::null_cast<std::int64_t>{.rows = 5} !=
        workloads::null_cast<std::int64_t>{.rows = 6});
}
