// SPDX-License-Identifier: Apache-2.0
/// @file
/// What every implementation of null_cast has to survive, on whichever lanes.
#pragma once

#include "catch.hpp"

#include <assay/workload/null_cast.hpp>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace assay::test {

/// Row counts round the widths of bytes, words, tiles, blocks; the last is the experiment's.
/// ASSAY_SMALL=1 leaves that out, for runs under a sanitizer.
inline std::vector<std::int64_t> battery_rows() {
  std::vector<std::int64_t> rows{0,   1,   7,   8,   31,  32,  33,   63,   64,     65,
                                 127, 128, 129, 511, 512, 513, 1000, 4097, 100'003};
  if (std::getenv("ASSAY_SMALL") == nullptr) { rows.push_back(2'684'354); }
  return rows;
}

/// A caller's column: extreme values in the rows that hold one, poison in those that do not, and
/// random bits past the last row.
template <class T>
struct nasty_column {
  std::vector<T> values;
  std::vector<std::uint8_t> mask;

  nasty_column(std::int64_t rows, double null_fraction, std::uint64_t seed) {
    using limits = std::numeric_limits<T>;
    std::vector<T> const extremes = [] {
      if constexpr (limits::is_integer) {
        // 2^53 + 1 and its neighbours do not fit a double: to nearest even
        auto const big = static_cast<T>((std::int64_t{1} << 53) + 1);
        return std::vector<T>{limits::min(),
                              limits::max(),
                              0,
                              -1,
                              1,
                              big,
                              static_cast<T>(big + 2),
                              static_cast<T>(-big),
                              static_cast<T>(limits::max() - 1),
                              static_cast<T>(limits::min() + 1)};
      } else {
        return std::vector<T>{limits::quiet_NaN(),
                              -limits::quiet_NaN(),
                              limits::signaling_NaN(),
                              limits::infinity(),
                              -limits::infinity(),
                              limits::denorm_min(),
                              -limits::denorm_min(),
                              limits::max(),
                              limits::lowest(),
                              T{0},
                              -T{0},
                              T{1} / 3,
                              limits::min() / 2};
      }
    }();
    mask.resize(static_cast<std::size_t>((rows + 7) / 8));
    for (std::int64_t row = 0; row < static_cast<std::int64_t>(mask.size()) * 8; ++row) {
      auto const random = random_bits(seed, static_cast<std::uint64_t>(row));
      bool const valid = static_cast<double>(random >> 11U) * 0x1p-53 >= null_fraction;
      if (valid) {
        mask[static_cast<std::size_t>(row / 8)] |= static_cast<std::uint8_t>(1U << (row % 8));
      }
      if (row >= rows) { continue; }
      auto const other = limits::has_quiet_NaN ? limits::quiet_NaN() : limits::min();
      values.push_back(valid ? extremes[random % extremes.size()] : other);
    }
  }

  workloads::column_view<T> view() const {
    return {values.data(), mask.data(), static_cast<std::int64_t>(values.size())};
  }
};

/// Runs `work` on two lanes: what was not run is caught, what was run is right, in either lane.
template <class Work, class Lane>
void check_null_cast_runs(Work const& work, Lane first, Lane second) {
  INFO(work.describe());
  auto state = workloads::prepare(work, first, 2);
  if (work.count() > 0) {
    auto const found = workloads::verify(work, state);
    REQUIRE(found.has_value());
    CHECK(found->find("lane 0: element 0 of array 2 ") == 0);
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

/// Generated and callers' columns of all sizes and null fractions.
template <class Work, class Lane>
void check_battery(Lane first, Lane second) {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  for (auto const rows : battery_rows()) {
    for (double const nulls : {0.0, 0.1, 0.5, 1.0}) {
      if (rows > 1'000'000 && nulls != 0.1) { continue; }
      Work work;
      work.rows = rows;
      work.null_fraction = nulls;
      work.seed = seed;
      check_null_cast_runs(work, first, second);

      nasty_column<typename Work::value_type> const mine{rows, nulls, seed};
      work.input = mine.view();
      check_null_cast_runs(work, first, second);
      work.input->mask = nullptr;  // no nulls
      check_null_cast_runs(work, first, second);
    }
  }
}

/// Corrupts one element and one validity bit at a time, in either lane, through `Access`, which
/// has `flip_value(state, lane, row)` and `flip_bit(state, lane, row)`.
template <class Work, class Access, class Lane>
void check_corruption(Access const& access, Lane first, Lane second) {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  for (std::int64_t const rows : {1, 65, 4099, 100'003}) {
    Work work;
    work.rows = rows;
    work.seed = seed;
    auto state = workloads::prepare(work, first, 2);
    workloads::enqueue(work, first, state);
    workloads::enqueue(work, second, state);
    first.synchronize();
    second.synchronize();
    REQUIRE_FALSE(workloads::verify(work, state).has_value());
    auto const random = static_cast<std::int64_t>(random_bits(seed, 1) >> 1U) % rows;
    for (std::int64_t const row : {std::int64_t{0}, rows - 1, rows / 2, random}) {
      for (int const lane : {0, 1}) {
        auto const place = "lane " + std::to_string(lane) + ": ";
        auto const element = "element " + std::to_string(row) + " of array 2 is ";
        access.flip_value(state, lane, row);
        CHECK(workloads::verify(work, state).value_or("nothing found").find(place + element) == 0);
        access.flip_value(state, lane, row);
        if constexpr (!Work::fused) {
          access.flip_bit(state, lane, row);
          CHECK(workloads::verify(work, state).value_or("nothing found") ==
                place + "row " + std::to_string(row) + " is null, expected a value");
          access.flip_bit(state, lane, row);
        }
      }
    }
    if constexpr (!Work::fused) {
      if (rows % 8 != 0) {
        access.flip_bit(state, 1, rows);  // belongs to no row
        CHECK_FALSE(workloads::verify(work, state).has_value());
      }
    }
    CHECK_FALSE(workloads::verify(work, state).has_value());
  }
}

}  // namespace assay::test
