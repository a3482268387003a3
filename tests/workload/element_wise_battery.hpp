// SPDX-License-Identifier: Apache-2.0
/// @file
/// What every implementation of an element-wise workload has to survive, on whichever lanes.
#pragma once

#include "catch.hpp"
#include "workloads/iterated_map.hpp"

#include <assay/workload/vector_add.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace assay::test {

/// Counts round the widths of vectors, blocks and the verifier's steps.
inline std::vector<std::int64_t> battery_elements() {
  std::vector<std::int64_t> counts{0,   1,    2,    3,    4,    5,    7,    31,    33,     255,
                                   256, 1023, 1025, 2047, 2048, 2049, 4097, 65537, 100'003};
  if (!small()) { counts.push_back(2'684'354); }
  return counts;
}

/// A caller's array: extreme values, and random ones between them.
template <class T>
std::vector<T> nasty_array(std::int64_t count, std::uint64_t seed) {
  using limits = std::numeric_limits<T>;
  std::vector<T> const extremes = [] {
    if constexpr (limits::is_integer) {
      return std::vector<T>{limits::min(), limits::max(), 0, -1, 1, limits::max() - 1};
    } else {
      return std::vector<T>{limits::quiet_NaN(),
                            limits::infinity(),
                            -limits::infinity(),
                            limits::denorm_min(),
                            limits::max(),
                            limits::lowest(),
                            T{0},
                            -T{0},
                            limits::min() / 2,
                            T{1} / 3,
                            1 + limits::epsilon(),
                            1};
    }
  }();
  std::vector<T> all;
  for (std::int64_t i = 0; i < count; ++i) {
    auto const random = random_bits(seed, static_cast<std::uint64_t>(i));
    all.push_back(random % 3 == 0 ? random_value(workloads::element_range<T>(), seed, random)
                                  : extremes[(random >> 8U) % extremes.size()]);
  }
  return all;
}

/// Runs `work` on two lanes: what was not run is caught, what was run is right, in either lane.
template <class Work, class Lane>
void check_runs(Work const& work, Lane first, Lane second) {
  INFO(work.describe());
  auto state = workloads::prepare(work, first, 2);
  if (work.count() > 0) {
    auto const found = workloads::verify(work, state);
    REQUIRE(found.has_value());
    CHECK(found->find("lane 0: element 0 of array ") == 0);
  }
  workloads::poison(work, state);
  workloads::enqueue(work, second, state);
  second.synchronize();
  if (work.count() > 0) { CHECK(workloads::verify(work, state).value_or("").find("lane 0") == 0); }
  workloads::enqueue(work, first, state);
  first.synchronize();
  CHECK(workloads::verify(work, state).value_or("right") == "right");
  workloads::poison(work, state);
  CHECK(workloads::verify(work, state).has_value() == (work.count() > 0));
}

/// Generated and callers' arrays of all sizes; `adjust(work)` sets what else the workload has.
template <class Work, class Lane, class Adjust>
void check_elements_battery(Lane first, Lane second, Adjust const& adjust) {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  for (auto const elements : battery_elements()) {
    Work work;
    work.elements = elements;
    work.seed = seed;
    adjust(work);
    check_runs(work, first, second);
    if (elements > 1'000'000) { continue; }
    std::vector<std::vector<typename Work::value_type>> mine;
    workloads::arrays_view<typename Work::value_type, Work::inputs> view;
    view.elements = elements;
    for (std::size_t k = 0; k < Work::inputs; ++k) {
      mine.push_back(nasty_array<typename Work::value_type>(elements, seed + k));
      view.inputs[k] = mine.back().data();
    }
    work.data = view;
    check_runs(work, first, second);
  }
}

/// Corrupts one element at a time, in either lane, through `corrupt(state, lane, element)`, which
/// changes it by more than rounding may.
template <class Work, class Lane, class Corrupt>
void check_elements_corruption(Lane first, Lane second, Corrupt const& corrupt) {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  for (std::int64_t const elements : {1, 65, 4099, 100'003}) {
    Work work;
    work.elements = elements;
    work.seed = seed;
    for (int const lane : {0, 1}) {
      for (auto const at : {std::int64_t{0}, elements / 2, elements - 1}) {
        auto state = workloads::prepare(work, first, 2);
        workloads::enqueue(work, first, state);
        workloads::enqueue(work, second, state);
        first.synchronize();
        second.synchronize();
        REQUIRE(!workloads::verify(work, state).has_value());
        corrupt(state, lane, at);
        auto const expected =
            "lane " + std::to_string(lane) + ": element " + std::to_string(at) + " of array ";
        CHECK_THAT(workloads::verify(work, state).value_or("right"), contains(expected));
      }
    }
  }
}

}  // namespace assay::test
