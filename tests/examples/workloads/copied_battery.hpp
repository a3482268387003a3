// SPDX-License-Identifier: Apache-2.0
/// @file
/// What every implementation of the workloads that take a copy strategy has to survive.
#pragma once

#include "catch.hpp"
#include "workloads/row_gather.hpp"
#include "workloads/streaming_sum.hpp"
#include "workloads/transpose.hpp"

#include <cstdint>
#include <vector>

namespace assay::test {

/// Runs `work` on two lanes: what was not run is caught, what was run is right, in either lane, and
/// right again when it is run once more.
template <class Work, class Lane>
void check_copied(Work const& work, Lane first, Lane second, bool has_output) {
  INFO(work.describe());
  auto state = workloads::prepare(work, first, 2);
  CHECK(workloads::verify(work, state).has_value() == has_output);
  workloads::enqueue(work, second, state);
  second.synchronize();
  if (has_output) { CHECK_THAT(workloads::verify(work, state).value_or(""), contains("lane 0")); }
  workloads::enqueue(work, first, state);
  first.synchronize();
  CHECK(workloads::verify(work, state).value_or("right") == "right");
  workloads::poison(work, state);
  CHECK(workloads::verify(work, state).has_value() == has_output);
  workloads::enqueue(work, first, state);
  workloads::enqueue(work, first, state);
  workloads::enqueue(work, second, state);
  first.synchronize();
  second.synchronize();
  CHECK(workloads::verify(work, state).value_or("right") == "right");
}

/// `adjust(work)` sets what else the workload has.
template <class T, class Lane, class Adjust>
void check_sums(Lane first, Lane second, Adjust const& adjust) {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  std::vector<std::int64_t> counts{0, 1, 2, 3, 4, 5, 255, 4095, 4096, 4097, 65'537, 100'003};
  if (!small()) { counts.push_back(5'000'011); }
  for (auto const elements : counts) {
    workloads::streaming_sum<T> work{.elements = elements, .seed = seed};
    adjust(work);
    check_copied(work, first, second, true);
  }
}

template <class Lane, class Adjust>
void check_gathers(Lane first, Lane second, Adjust const& adjust) {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  std::vector<std::int64_t> rows{0, 1, 7, 100};
  if (!small()) { rows.push_back(3001); }
  for (auto const count : rows) {
    for (std::int64_t const row_bytes : {16, 48, 256, 512, 1024, 2048, 2064, 4096, 16'384}) {
      workloads::row_gather work{
          .rows = count, .table_rows = 61, .row_bytes = row_bytes, .seed = seed};
      adjust(work);
      check_copied(work, first, second, count > 0);
    }
  }
}

template <class Lane, class Adjust>
void check_transposes(Lane first, Lane second, Adjust const& adjust) {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  struct shape {
    std::int64_t rows, columns;
  };
  std::vector<shape> shapes{{0, 0}, {0, 5},   {5, 0},    {1, 1},     {1, 300},  {300, 1},
                            {7, 9}, {64, 64}, {65, 127}, {128, 192}, {129, 60}, {333, 257}};
  if (!small()) { shapes.push_back({2049, 1999}); }
  for (auto const& [rows, columns] : shapes) {
    workloads::transpose work{.rows = rows, .columns = columns, .seed = seed};
    adjust(work);
    check_copied(work, first, second, rows * columns > 0);
  }
}

/// Fields that make no sense are refused by name and value.
template <class Lane>
void check_copied_refusals(Lane where) {
  auto const refusal = [&](auto const& work) {
    return message_of([&] { (void)workloads::prepare(work, where, 1); });
  };
  using sum = workloads::streaming_sum<float>;
  CHECK_THAT(refusal(sum{.elements = -1}), contains("streaming_sum: elements = -1"));
  CHECK_THAT(refusal(sum{.elements = 9, .max_sms = -2}), contains("max_sms = -2"));
  CHECK_THAT(refusal(sum{.elements = 9, .threads = 100}),
             contains("threads = 100 is not possible: 128, 256 and 512 are"));
  using workloads::row_gather;
  CHECK_THAT(refusal(row_gather{.rows = -1}), contains("row_gather: rows = -1"));
  CHECK_THAT(refusal(row_gather{.rows = 1, .table_rows = 0}), contains("table_rows = 0"));
  CHECK_THAT(refusal(row_gather{.rows = 1, .table_rows = 1, .row_bytes = 100}),
             contains("row_bytes = 100 is not possible: multiples of 16"));
  CHECK_THAT(refusal(row_gather{.rows = 1, .table_rows = 1, .threads = 0}),
             contains("threads = 0"));
  using workloads::transpose;
  CHECK_THAT(refusal(transpose{.rows = -3}), contains("transpose: rows = -3"));
  CHECK_THAT(refusal(transpose{.rows = 1, .columns = 1, .max_sms = -1}), contains("max_sms = -1"));
}

}  // namespace assay::test
