// SPDX-License-Identifier: Apache-2.0
/// @file
/// A setup serves several lanes, a caller's own memory, and results that need a bound or a judge.
#include "arrays/on_host.hpp"
#include "catch.hpp"

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;
using test::on_host;

namespace {

/// A store that uses the caller's memory.
struct borrowing_store final : arrays::host_array_store {
  using host_array_store::host_array_store;
  bool takes_callers_memory() const noexcept override { return true; }
};

}  // namespace

TEST_CASE("another lane has the same inputs and arrays of its own", "[arrays]") {
  std::vector<int> const data{1, 2, 3};
  auto first = on_host(test::fresh_seed());
  auto const declare = [&](setup& make) {
    auto const x = make.random<float>(100);
    auto const y = make.from(data);
    auto const z = make.inout<float>(100);
    auto const sum = make.output<float>(100);
    make.expect(sum, [x, z](std::size_t i) { return double{x.seeded(i)} + z.seeded(i); });
    return std::tuple{x, y, z, sum, make.scratch<int>(3)};
  };
  auto const [x, y, z, sum, work] = declare(first);
  auto second = first.for_another_lane();
  auto const [other_x, other_y, other_z, other_sum, other_work] = declare(second);
  CHECK(other_x.data() == x.data());
  CHECK(other_y.data() == y.data());
  CHECK(other_z.data() != z.data());
  CHECK(other_z.data()[99] == z.data()[99]);
  CHECK(other_sum.data() != sum.data());
  CHECK(other_work.data() != work.data());
  CHECK(std::isnan(other_sum.data()[99]));
  for (std::size_t i = 0; i < 100; ++i) {
    REQUIRE(other_x.seeded(i) == x.data()[i]);
    other_sum.data()[i] = other_x.data()[i] + other_z.data()[i];
  }
  CHECK(second.verify() == std::nullopt);
  CHECK_THAT(first.verify().value_or("right"), contains("element 0 of array 3 was never written"));
}

TEST_CASE("multiples of a unit add up exactly and reach both ends", "[arrays]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto make = on_host(seed);
  auto const x = make.random_multiples<float>(10'000, {-4, 3}, 0.25F);
  float low = 0;
  float high = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const value = x.data()[i];
    REQUIRE(value == x.seeded(i));
    REQUIRE(value * 4 == std::floor(value * 4));
    low = std::min(low, value);
    high = std::max(high, value);
  }
  CHECK(low == -1);
  CHECK(high == 0.75F);
  CHECK_THROWS_AS(make.random_multiples<double>(1, {2, 1}, 0.5), std::invalid_argument);
}

TEST_CASE("zeros are zero, and poison is the byte that was asked for", "[arrays]") {
  auto make = on_host(1);
  auto const counts = make.zeros<unsigned>(100);
  auto const out = make.output<int>(10, 0x7F);
  CHECK(std::vector<unsigned>(counts.data(), counts.data() + 100) == std::vector<unsigned>(100));
  make.expect(out, [](std::size_t) { return 1; });
  CHECK(out.data()[9] == 0x7F7F7F7F);
  CHECK_THAT(*make.verify(), contains("element 0 of array 1 is 2139062143 as if it was never"));
  counts.data()[0] = 1;
  out.data()[9] = 1;
  make.poison();
  CHECK(out.data()[9] == 0x7F7F7F7F);
  CHECK(counts.data()[0] == 1);  // calls leave zeros behind by themselves
}

TEST_CASE("an expectation by parts gives each element an error of its own", "[arrays]") {
  constexpr std::size_t n = 100'003;
  auto make = on_host(1);
  auto const y = make.output<float>(n);
  auto const k = make.output<std::int64_t>(n);
  make.expect(y, [](std::size_t first, std::span<double> wanted, std::span<double> errors) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = static_cast<double>(first + i);
      errors[i] = (first + i) % 2 == 0 ? 0 : 1;
    }
  });
  constexpr std::int64_t large = std::int64_t{1} << 60;
  make.expect(k, [](std::size_t first, std::span<std::int64_t> wanted, std::span<double> errors) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = large + static_cast<std::int64_t>(first + i);
      errors[i] = 0;
    }
  });
  for (std::size_t i = 0; i < n; ++i) {
    y.data()[i] = static_cast<float>(i) + (i % 2 == 0 ? 0 : 1);
    k.data()[i] = large + static_cast<std::int64_t>(i);
  }
  CHECK(make.verify() == std::nullopt);
  y.data()[0] = -0.0F;  // an error of 0 means the same bits
  CHECK_THAT(*make.verify(), contains("element 0 of array 0 is -0, expected 0 (tolerance 0; 1 of"));
  y.data()[0] = 0;
  y.data()[70'001] += 1;
  CHECK_THAT(*make.verify(),
             contains("element 70001 of array 0 is 70003, expected 70001 (tolerance "
                      "1; 1 of 100003 elements is wrong, by 2)"));
  y.data()[70'001] -= 1;
  k.data()[n - 1] ^= 1;
  CHECK_THAT(*make.verify(), contains("element 100002 of array 1 is "));
}

TEST_CASE("a poisoned element is wrong where NaN is expected", "[arrays]") {
  auto make = on_host(1);
  auto const y = make.output<double>(2);
  make.expect(y, [](std::size_t, std::span<double> wanted, std::span<double> errors) {
    for (auto& each : wanted) { each = std::numeric_limits<double>::quiet_NaN(); }
    for (auto& each : errors) { each = 0; }
  });
  y.data()[1] = -std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(*make.verify(), contains("element 0 of array 0 was never written"));
  y.data()[0] = std::numeric_limits<double>::quiet_NaN();
  CHECK(make.verify() == std::nullopt);
}

TEST_CASE("a judge sees the whole array and says what is wrong", "[arrays]") {
  struct pair_of_shorts {
    short a, b;
  };
  auto make = on_host(1);
  auto const x = make.random<int>(3);
  auto const y = make.output<pair_of_shorts>(3);
  make.expect_that(y, [](std::span<pair_of_shorts const> got) -> std::optional<std::string> {
    if (got.size() == 3 && got[2].b == 7) { return std::nullopt; }
    return "b of 2 is " + std::to_string(got[2].b);
  });
  CHECK(make.has_expectations());
  CHECK(make.verify() == "b of 2 is -1");
  y.data()[2].b = 7;
  CHECK(make.verify() == std::nullopt);
  auto const never = [](std::span<int const>) -> std::optional<std::string> { return "wrong"; };
  CHECK_THROWS_AS(make.expect_that(x, never), std::invalid_argument);
}

TEST_CASE("arrays without elements are permitted where they are asked for", "[arrays]") {
  auto make = std::move(on_host(1).allow_empty());
  auto const x = make.random<float>(0);
  auto const z = make.inout<float>(0);
  auto const y = make.output<float>(0);
  (void)make.from(std::span<int const>{});
  make.expect(y, [x](std::size_t i) { return x.seeded(i); });
  make.poison();
  make.restore();
  CHECK(z.size() == 0);
  CHECK(make.verify() == std::nullopt);
  auto other = make.for_another_lane();
  CHECK(other.random<float>(0).data() == x.data());
}

TEST_CASE("a store can use the caller's memory instead of a copy", "[arrays]") {
  std::vector<float> const in{1, 2, 3};
  std::vector<float> out(3, -1);
  setup lent{std::make_unique<borrowing_store>(1), 1};
  CHECK(lent.from(in).data() == in.data());
  auto const y = lent.output_in(std::span{out});
  CHECK(y.data() == out.data());
  CHECK(std::isnan(out[2]));
  auto const start = in;
  CHECK(lent.inout(start).data() != start.data());  // calls write it
  auto copied = on_host(1);
  CHECK(copied.from(in).data() != in.data());
  out[0] = 5;
  CHECK(copied.output_in(std::span{out}).data() != out.data());
  CHECK(out[0] == 5);
}
