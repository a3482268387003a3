// SPDX-License-Identifier: Apache-2.0
/// @file
/// A setup places, fills, poisons, restores and verifies the arrays that a builder declares.
#include "arrays/on_host.hpp"
#include "catch.hpp"

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;
using test::on_host;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A store with one block for all arrays, and room for `most` bytes.
class one_block final : public arrays::array_store {
 public:
  using array_store::array_store;
  using array_store::spread;
  void fill_random(void*, std::size_t, arrays::any_range const&, std::uint64_t) override {}
  void fill(void*, unsigned char, std::size_t) override {}
  void copy(void*, void const*, std::size_t) override {}
  void copy_in(void*, void const*, std::size_t) override {}
  void copy_out(void*, void const*, std::size_t) override {}
  static constexpr std::size_t most = 4000;
  alignas(256) std::byte block[spread + most] = {};

 private:
  std::byte* allocate_block(std::size_t bytes) override {
    if (bytes > most) { throw mr::out_of_memory("no room for " + std::to_string(bytes)); }
    return block;
  }
};

/// The message of `verify` for one element that is `got` and must be `wanted`; empty if right.
template <class T, class Wanted>
std::string verdict_on(T got, Wanted wanted, tolerance allowed = default_tolerance<T>) {
  auto make = on_host(1);
  auto const y = make.output<T>(1);
  make.expect(y, [wanted](std::size_t) { return wanted; }, allowed);
  y.data()[0] = got;
  return make.verify().value_or("");
}

}  // namespace

static_assert(std::is_trivially_copyable_v<array_view<float>>);
static_assert(!std::is_copy_constructible_v<setup>);
static_assert(sizeof(array_view<double>) <= 64);
// A temporary container is gone before the comparison.
static_assert(!detail::kept_range<std::vector<int>>);
static_assert(detail::kept_range<std::vector<int>&>);
static_assert(detail::kept_range<std::span<int const>>);

TEST_CASE("random bits are those of SplitMix64", "[arrays]") {
  // The first outputs of the published generator for the seed 1234567.
  CHECK(random_bits(1234567, 0) == 6457827717110365317ULL);
  CHECK(random_bits(1234567, 1) == 3203168211198807973ULL);
  CHECK(random_bits(1234567, 2) == 9817491932198370423ULL);
}

TEMPLATE_TEST_CASE("random floating numbers fill their range evenly", "[arrays]", float, double) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  constexpr int count = 100'000;
  double sum = 0;
  for (uniform<TestType> const range : {uniform<TestType>{}, {3, 5}, {0, TestType(0.1)}}) {
    sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      auto const value = random_value(range, seed, i);
      REQUIRE(value >= range.low);
      REQUIRE(value <= range.high);
      sum += (static_cast<double>(value) - range.low) / (double{range.high} - range.low);
    }
    CHECK(std::abs(sum / count - 0.5) < 6 / std::sqrt(12.0 * count));  // 1 in 5e8
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    REQUIRE(random_value(uniform<TestType>{}, seed, i) < 1);  // exact, so 1 is never reached
  }
}

TEMPLATE_TEST_CASE("random integers reach both ends of their range and no further", "[arrays]",
                   std::int8_t, std::uint8_t, std::int16_t, int, unsigned, std::int64_t,
                   std::uint64_t, long long, char) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto const most = std::numeric_limits<TestType>::max();
  auto const least = std::numeric_limits<TestType>::min();
  for (uniform<TestType> const range : {uniform<TestType>{1, 3},
                                        {static_cast<TestType>(most - 2), most},
                                        {least, static_cast<TestType>(least + 2)},
                                        {static_cast<TestType>(-1), static_cast<TestType>(-1)}}) {
    std::set<TestType> seen;
    for (std::uint64_t i = 0; i < 200; ++i) { seen.insert(random_value(range, seed, i)); }
    CHECK(*seen.begin() == range.low);
    CHECK(*seen.rbegin() == range.high);
    CHECK(seen.size() == static_cast<std::size_t>(range.high - range.low) + 1);
  }
  bool low_half = false;
  bool high_half = false;
  for (std::uint64_t i = 0; i < 200; ++i) {
    auto const value = random_value(uniform<TestType>{}, seed, i);
    low_half |= value < least / 2 + most / 2;
    high_half |= value > least / 2 + most / 2 + 1;
  }
  CHECK(low_half);
  CHECK(high_half);
}

TEMPLATE_TEST_CASE("an array of random numbers holds its seeded values", "[arrays]", std::int8_t,
                   std::uint16_t, int, std::int64_t, std::uint64_t, long long, char, float,
                   double) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto make = on_host(seed);
  auto const x = make.random<TestType>(100'003);  // several threads
  auto const y = make.inout<TestType>(1000, {.low = 3, .high = 100});
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) { wrong += x.data()[i] != x.seeded(i); }
  for (std::size_t i = 0; i < y.size(); ++i) {
    wrong += y.data()[i] != y.seeded(i) || y.seeded(i) < 3 || y.seeded(i) > 100;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the same declarations have the same values in each setup of a seed", "[arrays]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  setup first{std::make_unique<arrays::host_array_store>(1), seed};
  setup second{std::make_unique<arrays::host_array_store>(2), seed};
  auto other = on_host(seed + 1);
  auto const a = first.random<float>(1000);
  auto const b = first.random<float>(1000);
  (void)second.random<double>(7);
  auto const c = second.random<float>(1000);
  auto const d = other.random<float>(1000);
  int a_and_b = 0;
  int b_and_c = 0;
  int a_and_d = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    a_and_b += a.seeded(i) == b.seeded(i);
    b_and_c += b.seeded(i) == c.seeded(i);
    a_and_d += a.seeded(i) == d.seeded(i);
  }
  CHECK(a_and_b < 10);
  CHECK(b_and_c == 1000);
  CHECK(a_and_d < 10);
}

TEST_CASE("the offset of an array depends on the placement seed", "[arrays]") {
  std::set<std::ptrdiff_t> offsets;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    one_block store{seed};
    for (int i = 0; i < 10; ++i) {
      auto const offset = store.allocate(1000) - store.block;
      REQUIRE(offset % 256 == 0);
      REQUIRE(offset >= 0);
      offsets.insert(offset);
    }
    one_block one{seed};
    one_block same{seed};
    CHECK(one.allocate(1000) - one.block == same.allocate(1000) - same.block);
  }
  CHECK(offsets.size() > 200);  // of 256
  CHECK(*offsets.rbegin() < 65536);
}

TEST_CASE("a full store says what to do", "[arrays]") {
  setup make{std::make_unique<one_block>(1), 1};
  (void)make.output<char>(one_block::most);
  CHECK_THROWS_AS(make.output<int>(one_block::most), mr::out_of_memory);
  CHECK_THAT(message_of([&] { (void)make.output<int>(one_block::most); }),
             contains("no room for 16000; use smaller arrays"));
}

TEST_CASE("an array takes the caller's elements", "[arrays]") {
  std::vector<int> const from_vector{4, 5, 6};
  std::array<float, 2> from_array{0.5F, 1.5F};
  double const from_c_array[] = {1, 2, 3, 4};
  auto make = on_host(1);
  auto const a = make.from(from_vector);
  auto const b = make.from(from_array);
  auto const c = make.from(from_c_array);
  std::vector<int> const start = from_vector;
  auto const d = make.inout(std::span<int const>{start});
  static_assert(std::is_same_v<decltype(d), array_view<int> const>);
  CHECK(std::vector<int>(a.data(), a.data() + a.size()) == from_vector);
  CHECK((b.size() == 2 && b.data()[1] == 1.5F && b.seeded(1) == 1.5F));
  CHECK((c.size() == 4 && c.data()[3] == 4 && c.seeded(3) == 4));
  d.data()[2] = 7;
  CHECK(d.seeded(2) == 6);
  make.restore();
  CHECK(d.data()[2] == 6);
  CHECK(a.data() != from_vector.data());
}

TEST_CASE("arrays without a start have no seeded values", "[arrays]") {
  auto make = on_host(1);
  auto const y = make.output<float>(3);
  auto const work = make.scratch<std::byte>(3);
  for (auto const& said :
       {message_of([&] { (void)y.seeded(0); }), message_of([&] { (void)work.seeded(0); })}) {
    CHECK_THAT(said, contains("random, from and inout"));
  }
  CHECK_THROWS_AS(y.seeded(0), std::logic_error);
  auto const x = make.random<float>(3);
  CHECK_THROWS_AS(x.seeded(3), std::out_of_range);
}

TEST_CASE("sizes that no array can have are refused", "[arrays]") {
  auto make = on_host(1);
  constexpr auto huge = std::numeric_limits<std::size_t>::max() / sizeof(double) + 2;
  CHECK_THROWS_AS(make.random<double>(0), std::invalid_argument);
  CHECK_THAT(message_of([&] { (void)make.random<double>(0); }), contains("random"));
  CHECK_THAT(message_of([&] { (void)make.output<double>(0); }), contains("array of 0 elements"));
  CHECK_THAT(message_of([&] { (void)make.from(std::span<int const>{}); }), contains("from"));
  CHECK_THAT(message_of([&] { (void)make.scratch<double>(huge); }), contains(std::to_string(huge)));
  CHECK_THAT(message_of([&] { (void)make.inout<double>(huge); }), contains("inout"));
}

TEST_CASE("ranges and amounts that make no sense are refused", "[arrays]") {
  auto make = on_host(1);
  CHECK_THAT(message_of([&] { (void)make.random<int>(1, {.low = 4, .high = 3}); }),
             contains("uniform{4, 3}"));
  CHECK_THROWS_AS(make.random<float>(1, {.low = 1, .high = 1}), std::invalid_argument);
  CHECK_THROWS_AS(make.random<double>(1, {.low = not_a_number}), std::invalid_argument);
  CHECK_THROWS_AS(make.inout<double>(1, {.low = -inf}), std::invalid_argument);
  CHECK_THROWS_AS(make.random<double>(1, {.low = -1e308, .high = 1e308}), std::invalid_argument);
  for (double const bad : {-1.0, not_a_number, inf}) {
    CHECK_THROWS_AS(make.moves(bad), std::invalid_argument);
    CHECK_THROWS_AS(make.does(bad), std::invalid_argument);
  }
  CHECK_THAT(message_of([&] { make.moves(-8); }), contains("moves(-8)"));
  make.moves(1);
  make.moves(8);
  make.does(2);
  make.does(0);
  CHECK(make.bytes() == 8);
  CHECK(make.flops() == 0);
}

TEST_CASE("poison reaches outputs alone, restore reaches inouts alone", "[arrays]") {
  auto make = on_host(test::fresh_seed());
  auto const x = make.random<float>(100);
  auto const y = make.output<float>(100);
  auto const counts = make.output<int>(100);
  CHECK_FALSE(make.has_state());
  make.restore();
  auto const z = make.inout<float>(100);
  CHECK(make.has_state());
  CHECK(std::isnan(y.data()[99]));  // from its declaration on
  for (std::size_t i = 0; i < 100; ++i) {
    y.data()[i] = 1;
    counts.data()[i] = 1;
    z.data()[i] += 3;
  }
  make.poison();
  for (std::size_t i = 0; i < 100; ++i) {
    REQUIRE(x.data()[i] == x.seeded(i));
    REQUIRE(std::isnan(y.data()[i]));
    REQUIRE(counts.data()[i] == -1);
    REQUIRE(z.data()[i] == z.seeded(i) + 3);
  }
  y.data()[5] = 2;
  make.restore();
  for (std::size_t i = 0; i < 100; ++i) { REQUIRE(z.data()[i] == z.seeded(i)); }
  CHECK(y.data()[5] == 2);
}

TEST_CASE("verification finds one corrupted element anywhere", "[arrays]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  constexpr std::size_t n = 100'003;
  auto make = on_host(seed);
  auto const x = make.random<float>(n);
  auto const y = make.output<float>(n);
  CHECK_FALSE(make.has_expectations());
  CHECK(make.verify() == std::nullopt);  // nothing is expected yet
  make.expect(y, [x](std::size_t i) { return 2.0 * double{x.seeded(i)}; });
  CHECK(make.has_expectations());
  auto const run = [&] {
    for (std::size_t i = 0; i < n; ++i) { y.data()[i] = 2 * x.data()[i]; }
  };
  run();
  CHECK(make.verify() == std::nullopt);
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    auto const at = random_bits(seed, trial) % n;
    run();
    y.data()[at] += 1e-5F;
    CHECK_THAT(make.verify().value_or("nothing"),
               contains("element " + std::to_string(at) + " of array 1 is ") &&
                   contains("; 1 of 100003 elements is wrong, by 1e-05)"));
  }
  run();
  y.data()[70'000] = 3;
  y.data()[17] = 3.25F;
  y.data()[n - 1] = 3;
  CHECK_THAT(*make.verify(),
             contains("element 17 of array 1 is 3.25, expected ") && contains("; 3 of 100003"));
  run();
  x.data()[40'000] += 1;  // an input that a kernel spoils shows where the result differs
  run();
  CHECK_THAT(*make.verify(), contains("element 40000 "));
}

TEST_CASE("an element that nobody writes is named", "[arrays]") {
  auto make = on_host(test::fresh_seed());
  auto const y = make.output<double>(10);
  auto const k = make.output<int>(10);
  make.expect(y, [](std::size_t i) { return i == 4 ? not_a_number : 0.5; }, {.nan = true});
  make.expect(k, [](std::size_t i) { return i < 9 ? -1 : 0; });
  make.poison();
  for (std::size_t i = 0; i < 10; ++i) { y.data()[i] = i == 4 ? not_a_number : 0.5; }
  CHECK_THAT(*make.verify(), contains("element 9 of array 1 is -1 as if it was never written"));
  k.data()[9] = 0;
  CHECK(make.verify() == std::nullopt);
  make.poison();
  for (std::size_t i = 0; i < 10; ++i) {
    if (i != 4) { y.data()[i] = 0.5; }
  }
  CHECK_THAT(
      *make.verify(),
      contains(
          "element 4 of array 0 was never written, or computed from what it held, expected nan"));
}

TEST_CASE("integers of 64 bits are compared exactly", "[arrays]") {
  constexpr std::int64_t big = (std::int64_t{1} << 62) + 1;
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  CHECK(verdict_on(big, big).empty());
  CHECK_THAT(verdict_on(big - 1, big),
             contains(std::to_string(big - 1)) && contains("expected " + std::to_string(big)));
  CHECK(verdict_on(most, most).empty());
  CHECK_FALSE(verdict_on(most - 1, most).empty());
  CHECK_FALSE(verdict_on(most, std::int64_t{-1}).empty());
  CHECK_FALSE(verdict_on(std::int64_t{-1}, most).empty());
  CHECK_FALSE(verdict_on(std::uint8_t{44}, 300).empty());  // the type's own overflow counts
  CHECK(verdict_on(std::uint8_t{1}, true).empty());
  CHECK(verdict_on('a', 'a').empty());
  CHECK(verdict_on(12, 10, {.absolute = 2}).empty());
  CHECK_FALSE(verdict_on(13, 10, {.absolute = 2}).empty());
  CHECK_FALSE(verdict_on(11, 10, {.absolute = 0.9}).empty());
}

TEST_CASE("a floating result is right up to its tolerance", "[arrays]") {
  constexpr double eps = std::numeric_limits<float>::epsilon();
  CHECK(default_tolerance<float>.relative == 8 * eps);
  CHECK(default_tolerance<int> == tolerance{});
  for (float const sign : {-1.0F, 1.0F}) {
    CHECK(verdict_on(sign * (1 + 8 * static_cast<float>(eps)), sign * 1.0).empty());
    CHECK_FALSE(verdict_on(sign * (1 + 9 * static_cast<float>(eps)), sign * 1.0).empty());
    CHECK(verdict_on(sign * (1 - 8 * static_cast<float>(eps)), sign * 1.0).empty());
    CHECK_FALSE(verdict_on(sign * (1 - 9 * static_cast<float>(eps)), sign * 1.0).empty());
  }
  CHECK(verdict_on(0.0F, 1e-38).empty());  // flushed to zero
  CHECK_FALSE(verdict_on(0.0F, 1e-37).empty());
  CHECK(verdict_on(0.1F, 0.1, {}).empty());  // rounded once
  CHECK_FALSE(verdict_on(0.1F, 0.1000001, {}).empty());
  CHECK(verdict_on(1.5, 1.0, {.absolute = 0.5}).empty());
  CHECK_FALSE(verdict_on(1.5, 0.999, {.absolute = 0.5}).empty());
  CHECK(verdict_on(3.0, 2.0, {.relative = 0.5}).empty());
  CHECK_FALSE(verdict_on(3.0, 1.99, {.relative = 0.5}).empty());
  CHECK_THAT(verdict_on(3.25, 2.5, {.absolute = 1e-6}),
             contains("is 3.25, expected 2.5 (tolerance 1e-06; 1 of 1 elements"));
}

TEST_CASE("NaN agrees with NaN, and an infinity with itself", "[arrays]") {
  float const float_nan = std::numeric_limits<float>::quiet_NaN();
  float const float_inf = std::numeric_limits<float>::infinity();
  CHECK(verdict_on(float_nan, not_a_number, {.nan = true}).empty());
  CHECK_FALSE(verdict_on(float_nan, 1.0).empty());
  CHECK_FALSE(verdict_on(1.0F, not_a_number, {.nan = true}).empty());
  CHECK(verdict_on(float_inf, inf).empty());
  CHECK(verdict_on(-float_inf, -inf).empty());
  CHECK_FALSE(verdict_on(-float_inf, inf).empty());
  CHECK_FALSE(verdict_on(1.0F, inf).empty());
  CHECK_FALSE(verdict_on(float_inf, 1.0).empty());
  CHECK(verdict_on(float_inf, 1e39).empty());  // 1e39 rounds to it
}

TEST_CASE("an expectation can write all elements at once", "[arrays]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  constexpr std::size_t n = 5000;
  auto make = on_host(seed);
  auto const x = make.random<std::int64_t>(n, {.low = -1'000'000, .high = 1'000'000});
  auto const scan = make.output<std::int64_t>(n);
  auto const half = make.output<float>(n);
  std::atomic<int> calls = 0;
  make.expect(scan, [x, &calls](std::span<std::int64_t> wanted) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) { wanted[i] = sum += x.seeded(i); }
    ++calls;
  });
  make.expect(half, [](std::span<double> wanted) {
    for (auto& each : wanted) { each = 0.5; }
  });
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    scan.data()[i] = sum += x.data()[i];
    half.data()[i] = 0.5F;
  }
  CHECK(make.verify() == std::nullopt);
  scan.data()[n - 1] ^= 1;
  CHECK_THAT(*make.verify(), contains("element 4999 of array 1 "));
  CHECK(calls == 1);
  scan.data()[n - 1] ^= 1;
  half.data()[3] = 0.75F;
  CHECK_THAT(*make.verify(), contains("element 3 of array 2 is 0.75, expected 0.5"));
}

TEST_CASE("only what a call writes can have an expectation", "[arrays]") {
  auto make = on_host(1);
  auto other = on_host(1);
  auto const always = [](std::size_t) { return 1.0; };
  auto const x = make.random<float>(4);
  auto const z = make.inout<float>(4);
  CHECK_THROWS_AS(make.expect(x, always), std::invalid_argument);
  CHECK_THROWS_AS(make.expect(other.output<float>(4), always), std::invalid_argument);
  auto const y = make.output<float>(4);
  CHECK_THROWS_AS(make.expect(y, always, {.relative = -1}), std::invalid_argument);
  CHECK_THROWS_AS(make.expect(y, always, {.absolute = not_a_number}), std::invalid_argument);
  CHECK_FALSE(make.has_expectations());
  make.expect(z, [](std::size_t) { return 3.0; });
  make.expect(z, [z](std::size_t i) { return z.seeded(i) + 1.0; });  // the last one counts
  for (std::size_t i = 0; i < 4; ++i) { z.data()[i] += 1; }
  CHECK(make.verify() == std::nullopt);
  make.restore();
  CHECK_THAT(*make.verify(), contains("element 0 of array 1 ") && contains("4 of 4 elements are"));
}

TEST_CASE("ones are 1, but in a range of the caller that ends before it", "[arrays]") {
  auto const one_of = [](auto... range) {
    auto make = on_host(7);
    make.with(special_values::ones);
    auto const x = make.random<float>(3, range...);
    auto const y = make.inout<double>(3);
    CHECK((y.data()[2] == 1 && y.seeded(2) == 1));
    CHECK(x.seeded(1) == x.data()[1]);
    return x.data()[1];
  };
  CHECK(one_of() == 1);
  CHECK(one_of(uniform<float>{0, 1}) == std::nextafter(1.0F, 0.0F));
  CHECK(one_of(uniform<float>{0, 8}) == 1);
  CHECK(one_of(uniform<float>{2, 3}) == 2);
}

TEST_CASE("a temporary container moves into the setup", "[arrays]") {
  auto make = on_host(7);
  auto const x = make.from(std::vector<int>{1, 2, 3});
  auto const y = make.inout(std::vector<float>(3, 2.5F));
  auto const rows = make.inout(std::array<double, 6>{1, 2, 3, 4, 5, 6}, matrix{2, 3, 4});
  auto const other = make.from(std::vector<int>(3, 7));  // at other memory than the first
  make.expect(y, [=](std::size_t i) { return y.seeded(i) + static_cast<float>(x.seeded(i)); });
  make.expect(rows, [=](std::size_t row, std::size_t i) { return 2 * rows.seeded(row, i); });
  auto const run = [&] {
    for (std::size_t i = 0; i < 3; ++i) { y.data()[i] += static_cast<float>(x.data()[i]); }
    for (std::size_t i = 0; i < rows.size(); ++i) { rows.data()[i] *= 2; }
  };
  run();
  CHECK(make.verify() == std::nullopt);
  make.restore();
  run();
  CHECK(make.verify() == std::nullopt);
  CHECK((x.seeded(2) == 3 && other.seeded(2) == 7 && rows.seeded(1, 2) == 6));
}

TEST_CASE("arrays take special values, and expectations know them", "[arrays]") {
  constexpr std::size_t n = 1000;
  for (auto const kind : {special_values::zeros, special_values::ones, special_values::extremes,
                          special_values::nan, special_values::infinities}) {
    auto make = on_host(7);
    make.with(kind);
    auto const x = make.random<float>(n, {2, 3});
    auto const k = make.inout<int>(n, {-4, 9});
    make.expect(k, [k](std::size_t i) { return k.seeded(i); });
    CHECK(make.verify() == std::nullopt);
    std::size_t nans = 0;
    std::size_t infinities = 0;
    for (std::size_t i = 0; i < n; ++i) {
      float const each = x.data()[i];
      nans += std::isnan(each) ? 1U : 0U;
      infinities += std::isinf(each) ? 1U : 0U;
      CHECK((std::isnan(each) ? std::isnan(x.seeded(i)) : each == x.seeded(i)));
      if (kind == special_values::zeros) { CHECK((each == 2 && k.data()[i] == 0)); }
      if (kind == special_values::ones) { CHECK((each == 2 && k.data()[i] == 1)); }
      if (kind == special_values::extremes) {
        CHECK((each == 2 || each == std::nextafter(3.0f, 0.0f)));
        CHECK((k.data()[i] == -4 || k.data()[i] == 9));
      }
    }
    CHECK((kind == special_values::nan) == (nans > 0 && nans < n / 10));
    CHECK((kind == special_values::infinities) == (infinities > 0 && infinities < n / 10));
    auto lane = make.for_another_lane();
    CHECK(lane.random<float>(n, {2, 3}).data() == x.data());
    auto const own = lane.inout<int>(n, {-4, 9});
    CHECK(std::equal(own.data(), own.data() + n, k.data()));
  }
}

TEMPLATE_TEST_CASE("denormals are subnormal numbers of the range", "[arrays]", float, double) {
  auto make = on_host(test::fresh_seed());
  make.with(special_values::denormals);
  auto const seen = [&](uniform<TestType> range) {
    auto const x = make.random<TestType>(1000, range);
    std::set<TestType> all{x.data(), x.data() + x.size()};
    CHECK(x.seeded(7) == x.data()[7]);
    for (auto const each : all) {
      CHECK(std::abs(each) < std::numeric_limits<TestType>::min());
      CHECK((range.low <= each && each < range.high));
    }
    return all;
  };
  auto const both = seen({});
  CHECK((both.size() > 990 && *both.begin() < 0 && *both.rbegin() > 0 && both.count(0) == 0));
  CHECK((*seen({0, 1}).begin() > 0 && *seen({-1, 0}).rbegin() < 0));
  CHECK(make.random<TestType>(3, {2, 3}).data()[2] == 2);
  CHECK(make.random<int>(3).data()[2] == 0);
}

TEST_CASE("a setup of finite numbers is random where others hold NaN or infinities", "[arrays]") {
  using enum special_values;
  constexpr double tiny = 1e-30;
  for (auto const kind : {nan, infinities, zeros}) {
    auto make = on_host(7);
    make.with(kind);
    CHECK_FALSE((make.is_finite() || make.is_unordered()));
    auto const early = make.random<double>(100);
    make.finite();
    auto const x = make.random<double>(100);
    CHECK((make.is_finite() && make.for_another_lane().is_finite()));
    double sum = 0;
    double early_sum = 0;
    for (std::size_t i = 0; i < 100; ++i) {
      sum += std::abs(x.data()[i]);
      early_sum += std::abs(early.data()[i]);
    }
    CHECK((std::isfinite(sum) && (sum > tiny) == (kind != zeros)));
    CHECK(std::isfinite(early_sum) == (kind == zeros));
  }
  // The right value of inf - inf is NaN, where arrays may hold infinities.
  for (bool const finite : {false, true}) {
    auto make = on_host(7);
    make.with(infinities);
    if (finite) { make.finite(); }
    auto const x = make.random<double>(100);
    auto const y = make.output<double>(100);
    make.expect(y, [x, finite](std::size_t i) {
      return finite && i == 5 ? not_a_number : x.seeded(i) - x.seeded(i);
    });
    for (std::size_t i = 0; i < 100; ++i) { y.data()[i] = x.data()[i] - x.data()[i]; }
    std::string said = "right";
    auto const thrown = message_of([&] { said = make.verify().value_or("right"); });
    CHECK((finite ? thrown.find("element 5 of array 1 is NaN") != thrown.npos : said == "right"));
  }
  auto make = on_host(7);
  CHECK((make.unordered().is_unordered() && make.for_another_lane().is_unordered()));
}

TEST_CASE("a setup lists its arrays, and tells low precision from a wrong answer", "[arrays]") {
  auto make = on_host(3);
  auto const x = make.random<float>(2000);
  auto const y = make.output<float>(2000);
  auto const z = make.inout<double>(3);
  (void)make.scratch<char>(5);
  make.expect(y, [x](std::size_t i) { return x.seeded(i); });
  using enum declared_array::role;
  auto const all = make.declared();
  REQUIRE(all.size() == 4);
  CHECK((all[0].data == x.data() && all[0].what == input && all[0].elements == 2000));
  CHECK((all[1].what == output && all[1].bytes == 8000));
  CHECK((all[2].data == z.data() && all[2].what == inout && all[2].elements == 3));
  CHECK(all[3].what == scratch);
  CHECK((all[1].expected && all[1].is_result()));
  CHECK((!all[2].expected && all[2].is_result()));
  CHECK((!all[0].is_result() && !all[3].is_result()));
  for (std::size_t i = 0; i < 2000; ++i) { y.data()[i] = x.data()[i] + 1e-3f; }
  CHECK(make.verify() != std::nullopt);
  CHECK(make.verify(16384) == std::nullopt);
  y.data()[1999] = std::nanf("");
  CHECK(make.verify(16384) != std::nullopt);
}

TEST_CASE("verification names the worst error, of right arrays too", "[arrays]") {
  constexpr std::size_t n = 100'003;
  constexpr float ulp = std::numeric_limits<float>::epsilon();
  auto make = on_host(3);
  auto const y = make.output<float>(n);
  auto const k = make.output<int>(n);
  make.expect(y, [](std::size_t i) { return i % 2 == 0 ? 1.0 : 2.0; }, {.absolute = 8 * ulp});
  make.expect(k, [](std::size_t) { return 5; }, {.absolute = 4});
  std::fill_n(k.data(), n, 5);
  for (std::size_t i = 0; i < n; ++i) { y.data()[i] = i % 2 == 0 ? 1 : 2; }
  CHECK(make.verify() == std::nullopt);
  CHECK((make.worst().share == 0 && make.worst().ulps == 0));
  y.data()[90'000] += 2 * ulp;
  y.data()[90'001] += 4 * ulp;  // 2 ulp of 2
  y.data()[99'999] -= 4 * ulp;
  CHECK(make.verify() == std::nullopt);
  auto found = make.worst();
  CHECK((found.share == 0.5 && found.ulps == 2 && found.array == 0 && found.element == 90'001));
  k.data()[7] = 8;
  CHECK(make.verify() == std::nullopt);
  found = make.worst();
  CHECK((found.share == 0.75 && found.ulps == 3 && found.array == 1 && found.element == 7));
  y.data()[11] += 16 * ulp;
  CHECK(make.verify() != std::nullopt);
  found = make.worst();
  CHECK((found.share == 2 && found.ulps == 8 && found.array == 0 && found.element == 11));
  y.data()[50'000] = static_cast<float>(not_a_number);
  CHECK(make.verify() != std::nullopt);
  CHECK((make.worst().share == inf && make.worst().element == 50'000));
  // One rounding is right whatever is permitted, and takes all of it.
  make.expect(y, [](std::size_t) { return 0.1; }, {});
  std::fill_n(y.data(), n, 0.1F);
  CHECK(make.verify() == std::nullopt);
  CHECK((make.worst().share == 1 && make.worst().ulps < 0.5 && make.worst().element == 0));
  make.expect(y, [](std::size_t) { return not_a_number; }, {.nan = true});
  std::fill_n(y.data(), n, std::nanf("1"));
  k.data()[7] = 5;
  CHECK(make.verify() == std::nullopt);
  CHECK(make.worst().share == 0);
}

TEST_CASE("a range of another type serves where its ends fit", "[setup]") {
  auto const first = [](auto range, auto type) {
    auto make = on_host(3);
    return make.random<decltype(type)>(1, range).seeded(0);
  };
  CHECK(first(uniform{-1, 1}, 0.0F) == first(uniform<float>{-1, 1}, 0.0F));
  CHECK(first(uniform{-1.0, 1.0}, 0.0F) == first(uniform<float>{-1, 1}, 0.0F));
  CHECK(first(uniform{7, 7}, std::uint8_t{}) == 7);
  CHECK(message_of([&] { (void)first(uniform{-1, 1}, std::uint8_t{}); }) ==
        "uniform{-1, 1} does not fit a type of 1 bytes");
  CHECK_THROWS_AS(first(uniform{0, 300}, std::uint8_t{}), std::invalid_argument);
  CHECK_THROWS_AS(first(uniform{0U, ~0U}, std::int32_t{}), std::invalid_argument);
}
