// SPDX-License-Identifier: Apache-2.0
/// @file
/// A new workload is one pair of files; the generic half serves its arrays on each lane.

#include "catch.hpp"
#include "workload/running_maximum.hpp"

#include <assay/measure/compare_pipelines.hpp>
#include <assay/memory/heap.hpp>
#include <assay/rig.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;

namespace {

using host_lane_type = lane<on::host, host_stream, mr::heap_resource>;

host_lane_type make_lane(int index) {
  return {on::host{2}, host_stream{}, mr::heap_resource{}, index};
}

/// Counts calls into an array that it reads too, and writes two outputs of different types.
struct counting_calls {
  static constexpr std::string_view name = "counting_calls";
  std::uint64_t seed = 7;
  int limit = 100;
  bool operator==(counting_calls const&) const = default;
  traffic item_traffic() const { return {}; }
  void validate() const {
    if (limit < 0) { throw std::invalid_argument("limit = " + std::to_string(limit)); }
  }

  struct declared {
    int const* input;
    int* calls;
    double* half;
    std::int64_t* twice;
  };
  declared arrays(setup& make) const {
    auto const x = make.random<int>(10, {0, 1000});
    auto const calls = make.inout<int>(10, {0, 9});
    auto const half = make.output<double>(10);
    auto const twice = make.output<std::int64_t>(10);
    make.expect(calls, [calls](std::size_t i) { return calls.seeded(i) + 1; });
    make.expect(half, [x](std::size_t i) { return 0.5 * x.seeded(i); });
    make.expect(twice, [calls](std::size_t i) { return std::int64_t{2} * calls.seeded(i); });
    return {x.data(), calls.data(), half.data(), twice.data()};
  }
};

/// A plan of a library, of which a lane keeps one.
struct plan {
  double factor;
  int const* made_for;
};
std::vector<int const*> plans_made;
template <any_place Place>
plan make_handle(Place const&, counting_calls const&, counting_calls::declared const& all) {
  plans_made.push_back(all.calls);
  return {0.5, all.calls};
}

template <host_lane Lane>
void run_on(Lane&, counting_calls const&, counting_calls::declared const& all, plan const& how) {
  if (how.made_for != all.calls) { throw std::logic_error("a plan of another lane"); }
  for (int i = 0; i < 10; ++i) {
    all.half[i] = how.factor * all.input[i];
    all.twice[i] = 2 * std::int64_t{all.calls[i]};
    ++all.calls[i];
  }
}

struct unchecked {
  static constexpr std::string_view name = "unchecked";
  std::uint64_t seed = 1;
  bool operator==(unchecked const&) const = default;
  traffic item_traffic() const { return {}; }
  float* arrays(setup& make) const { return make.output<float>(4).data(); }
};
template <host_lane Lane>
void run_on(Lane&, unchecked const&, float*) {}

struct half_checked : unchecked {
  static constexpr std::string_view name = "half_checked";
  bool operator==(half_checked const&) const = default;
  float* arrays(setup& make) const {
    auto const ones = make.output<float>(4);
    (void)make.output<float>(4);
    make.expect(ones, [](std::size_t) { return 1; });
    return ones.data();
  }
};
template <host_lane Lane>
void run_on(Lane&, half_checked const&, float* ones) {
  std::fill(ones, ones + 4, 1.0F);
}

}  // namespace

static_assert(workload_on<running_maximum, host_lane_type>);
static_assert(workload_on<counting_calls, host_lane_type>);
static_assert(!workload_on<int, host_lane_type>);

TEST_CASE("a workload of one pair of files is right on the host, lane by lane", "[workload]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (int const columns : {1, 31, 333}) {
    running_maximum const work{.rows = 50, .columns = columns, .seed = seed};
    auto first = make_lane(0);
    auto second = make_lane(1);
    auto state = workloads::prepare(work, first, 2);
    CHECK_THAT(workloads::verify(work, state).value_or("right"),
               contains("lane 0: element 0 of array 1 was never written"));
    workloads::enqueue(work, first, state);
    CHECK_THAT(workloads::verify(work, state).value_or("right"), contains("lane 1: element 0 "));
    workloads::enqueue(work, second, state);
    CHECK(workloads::verify(work, state).value_or("right") == "right");
    workloads::poison(work, state);
    CHECK(workloads::verify(work, state).has_value());
  }
}

TEST_CASE("a corrupted element of a new workload is caught and named", "[workload]") {
  running_maximum const work{.rows = 50, .columns = 77};
  auto where = make_lane(0);
  auto state = workloads::prepare(work, where, 1);
  workloads::enqueue(work, where, state);
  for (std::size_t const at : {0, 1999, 3849}) {
    auto& element = state.arrays(0).second.data()[at];
    auto const was = element;
    element += 0x1p-20F;
    CHECK_THAT(workloads::verify(work, state).value_or("right"),
               contains("lane 0: element " + std::to_string(at) + " of array 1 is ") &&
                   contains("; 1 of 3850 elements is wrong, by "));
    element = was;
  }
  CHECK_FALSE(workloads::verify(work, state).has_value());
}

TEST_CASE("a new workload runs in compare on the host", "[workload]") {
  measure::options chosen;
  chosen.cell_seconds = 1e-4;
  chosen.warm_up_seconds = 0.01;
  pipeline const control{running_maximum{.rows = 64, .columns = 64}, on::host{},
                         submit::sequential{.items = 2}};
  auto const found =
      compare(control, control.with(running_maximum{.rows = 1024, .columns = 64}), chosen);
  REQUIRE(found.failure == "");
  CHECK(found.findings.front().effect.low > 2);
  CHECK(found.variants[0].bytes == 2 * 8 * 64 * 64);
  for (auto const& each : found.variants) { CHECK(each.results == measure::checks::all); }
}

TEST_CASE("a workload that expects nothing of one of its outputs is checked in part",
          "[workload]") {
  auto const kind = [](auto const& work) {
    pipeline const what{work, on::host{}, submit::sequential{.items = 1}};
    return measure::pipeline_subject{what}.checked();
  };
  CHECK(kind(half_checked{}) == measure::checks::part);
  CHECK(kind(running_maximum{.rows = 4, .columns = 4}) == measure::checks::all);
}

TEST_CASE("lanes share inputs and have outputs of their own", "[workload]") {
  running_maximum const work{.rows = 3, .columns = 5};
  auto where = make_lane(0);
  auto const state = workloads::prepare(work, where, 2);
  auto const other = workloads::prepare(work, where, 1);
  CHECK(state.arrays(0).first.data() == state.arrays(1).first.data());
  CHECK(state.arrays(0).second.data() != state.arrays(1).second.data());
  CHECK(other.arrays(0).first.data() != state.arrays(0).first.data());
  CHECK(std::equal(other.arrays(0).first.data(), other.arrays(0).first.data() + 15,
                   state.arrays(0).first.data()));
  CHECK_THROWS_AS(state.arrays(2), std::out_of_range);
}

TEST_CASE("arrays that items change start each batch anew", "[workload]") {
  plans_made.clear();
  pipeline const what{counting_calls{}, on::host{}, submit::sequential{.items = 3}};
  rig real{what};
  CHECK(plans_made.size() == 2);  // one lane of each buffer set
  CHECK(real.verify(0).value_or("right") == "right");
  real.run(1);
  CHECK(real.verify(1).value_or("right") == "right");

  std::shared_ptr<buffer_sets<workloads::prepared<on::host, counting_calls>>> sets;
  auto const keep = [&](auto const& make) { return sets = make(); };
  rig<std::remove_const_t<decltype(what)>> watched{what, mr::heap{}.open(on::host{}), keep};
  auto const before = (*sets)[0].arrays(0).calls[4];
  watched.run(0);
  watched.run(0);
  CHECK((*sets)[0].arrays(0).calls[4] == before + 3);

  auto where = make_lane(0);
  counting_calls const work{};
  auto state = workloads::prepare(work, where, 1);
  CHECK(state.has_state());
  auto const start = std::vector<int>(state.arrays(0).calls, state.arrays(0).calls + 10);
  workloads::enqueue(work, where, state);
  workloads::enqueue(work, where, state);
  CHECK_THAT(workloads::verify(work, state).value_or("right"),
             contains("lane 0: element 0 of array 1 is "));
  state.restore();
  CHECK(std::equal(start.begin(), start.end(), state.arrays(0).calls));
  workloads::enqueue(work, where, state);
  CHECK(workloads::verify(work, state).value_or("right") == "right");
  state.arrays(0).twice[9] += 1;
  CHECK_THAT(workloads::verify(work, state).value_or("right"),
             contains("lane 0: element 9 of array 3 is "));
}

TEST_CASE("a workload that expects nothing of its outputs is refused", "[workload]") {
  auto where = make_lane(0);
  CHECK_THAT(message_of([&] { (void)workloads::prepare(unchecked{}, where, 1); }),
             contains("unchecked: arrays(setup&) expects nothing"));
}

TEST_CASE("impossible fields and counts of lanes are refused", "[workload]") {
  auto where = make_lane(0);
  CHECK(message_of([&] { (void)workloads::prepare(counting_calls{.limit = -4}, where, 1); }) ==
        "limit = -4");
  CHECK_THAT(message_of([&] { (void)workloads::prepare(counting_calls{}, where, 0); }),
             contains("lanes = 0 is not possible"));
}
