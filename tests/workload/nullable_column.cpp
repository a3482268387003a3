// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/workload/nullable_column.hpp>

#include <cmath>

using namespace assay;
using workloads::column_recipe;
using workloads::generated_column;

TEMPLATE_TEST_CASE("a generated column follows from its recipe alone", "[workload]", std::int32_t,
                   std::int64_t, float) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  workloads::column<TestType> const small{column_recipe{1001, 0.25, seed}};
  workloads::column<TestType> const large{column_recipe{400'000, 0.25, seed}};  // several threads
  workloads::column<TestType> const other{column_recipe{1001, 0.25, seed + 1}};
  int differing = 0;
  for (std::int64_t row = 0; row < 1001; ++row) {
    bool const valid = workloads::is_valid(small.view().mask, row);
    REQUIRE(valid == workloads::is_valid(large.view().mask, row));
    if (!valid) { continue; }
    REQUIRE(small.view().values[row] == large.view().values[row]);
    differing += small.view().values[row] != other.view().values[row] ? 1 : 0;
  }
  CHECK(differing > 500);
}

TEST_CASE("a generated column has the share of nulls that was asked for", "[workload]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  constexpr std::int64_t rows = 200'003;
  for (double const share : {0.0, 0.1, 0.5, 1.0}) {
    workloads::column<float> const made{column_recipe{rows, share, seed}};
    std::int64_t nulls = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      bool const valid = workloads::is_valid(made.view().mask, row);
      nulls += valid ? 0 : 1;
      REQUIRE(std::isfinite(made.view().values[row]) == valid);
    }
    auto const sigma = std::sqrt(static_cast<double>(rows) * share * (1 - share));
    CHECK(std::abs(static_cast<double>(nulls) - share * rows) <= 6 * sigma);  // 1 in 5e8
  }
}

TEST_CASE("the bits past the last row are not all alike", "[workload]") {
  int ones = 0;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    workloads::column<float> const made{column_recipe{1, 1.0, seed}};
    for (int bit = 1; bit < 8; ++bit) {
      ones += workloads::is_valid(made.view().mask, bit) ? 1 : 0;
    }
  }
  CHECK(ones > 150);
  CHECK(ones < 300);
}

TEST_CASE("the last column is kept for equal recipes", "[workload]") {
  auto first = generated_column<std::int32_t>({1000, 0.1, 1});
  CHECK(generated_column<std::int32_t>({1000, 0.1, 1}) == first);
  std::weak_ptr const kept = first;
  first.reset();
  CHECK(generated_column<std::int32_t>({1000, 0.1, 1}) == kept.lock());
  auto const second = generated_column<std::int32_t>({1000, 0.1, 2});
  CHECK(kept.expired());
  CHECK(generated_column<std::int32_t>({1000, 0.2, 2}) != second);
}

TEST_CASE("mask_bytes are whole blocks of 64 bytes", "[workload]") {
  CHECK(workloads::mask_bytes(0) == 0);
  CHECK(workloads::mask_bytes(1) == 64);
  CHECK(workloads::mask_bytes(512) == 64);
  CHECK(workloads::mask_bytes(513) == 128);
}
