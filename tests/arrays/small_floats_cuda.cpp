// SPDX-License-Identifier: Apache-2.0
/// @file
/// Floating numbers of 8 and 16 bits are converted as the toolkit converts them, and serve as
/// elements of arrays.
#include "arrays/on_host.hpp"
#include "catch.hpp"

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>
#include <assay/core/bfloat16.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

using namespace assay;
using arrays::format_of;
using test::contains;
using test::message_of;
using test::on_host;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
using bits_of = typename arrays::small_float<format_of<T>>::bits_type;

template <class T>
bits_of<T> bits(T const& of) {
  bits_of<T> is = 0;
  static_assert(sizeof is == sizeof of);
  std::memcpy(&is, &of, sizeof is);
  return is;
}
template <class T>
T made_of(std::uint64_t bits) {
  T made;
  auto const narrow = static_cast<bits_of<T>>(bits);
  std::memcpy(static_cast<void*>(&made), &narrow, sizeof made);
  return made;
}

/// As the toolkit converts on the host.
template <class T>
std::uint64_t converted(double value) {
  return bits(T(value));
}
template <>
std::uint64_t converted<bfloat16>(double value) {
  return bits(to_bfloat16(value));
}
template <class T>
std::uint64_t narrowed(double value) {
  return arrays::small_float<format_of<T>>{value}.bits;
}

}  // namespace

#define ALL_SMALL_FLOATS __half, __nv_bfloat16, __nv_fp8_e4m3, __nv_fp8_e5m2, bfloat16

TEMPLATE_TEST_CASE("all bits of small floats stand for the toolkit's numbers", "[arrays]",
                   ALL_SMALL_FLOATS) {
  constexpr std::uint64_t patterns = std::uint64_t{1} << (8 * sizeof(TestType));
  std::size_t wrong = 0;
  for (std::uint64_t i = 0; i < patterns; ++i) {
    double const ours = arrays::widened(format_of<TestType>, i);
    double const theirs = static_cast<float>(made_of<TestType>(i));
    bool const same = std::bit_cast<std::uint64_t>(ours) == std::bit_cast<std::uint64_t>(theirs);
    wrong += same || (std::isnan(ours) && std::isnan(theirs)) ? 0U : 1U;
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("numbers are rounded to small floats as the toolkit rounds them", "[arrays]",
                   ALL_SMALL_FLOATS) {
  constexpr std::uint64_t patterns = std::uint64_t{1} << (8 * sizeof(TestType));
  std::size_t wrong = 0;
  auto const compare = [&](double value) {
    auto const ours = narrowed<TestType>(value);
    auto const theirs = converted<TestType>(value);
    bool const both_nan = std::isnan(arrays::widened(format_of<TestType>, ours)) &&
                          std::isnan(arrays::widened(format_of<TestType>, theirs));
    wrong += ours == theirs || both_nan ? 0U : 1U;
    if (ours != theirs && !both_nan && wrong < 4) {
      UNSCOPED_INFO(value << ": " << ours << ", not " << theirs);
    }
  };
  for (std::uint64_t i = 0; i < patterns; ++i) {
    double const each = arrays::widened(format_of<TestType>, i);
    double const next = arrays::widened(format_of<TestType>, (i + 1) % patterns);
    compare(each);
    double const tie = each + (next - each) / 2;
    for (double const near :
         {tie, std::nextafter(tie, inf), std::nextafter(tie, -inf), each + (next - each) / 3}) {
      compare(near);
    }
  }
  for (double const each :
       {0.0,   inf,   not_a_number, 1e300,   5e-324,  65519.0,  65520.0, 448.0,
        464.0, 465.0, 480.0,        57344.0, 61440.0, 61441.0,  3.4e38,  3.3961775e38,
        1e-40, 1e-45, 2e-46,        0x1p-24, 0x1p-25, 0x1.8p-25}) {
    compare(each);
    compare(-each);
  }
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::uint64_t i = 0; i < 200'000; ++i) {  // doubles of any exponent near those of floats
    auto const random = random_bits(seed, i);
    compare(std::ldexp(1.0 + static_cast<double>(random >> 12U) * 0x1p-52,
                       static_cast<int>(random % 300) - 155) *
            ((random >> 11U) % 2 == 0 ? 1 : -1));
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("arrays hold random small floats, and check them", "[arrays]",
                   ALL_SMALL_FLOATS) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  constexpr std::size_t n = 50'003;
  auto make = on_host(seed);
  auto const x = make.random<TestType>(n);
  auto const z = make.inout<TestType>(n, {2, 3});
  auto const y = make.output<TestType>(n);
  static_assert(std::is_same_v<decltype(x.seeded(0)), float>);
  std::set<float> seen;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    seen.insert(x.seeded(i));
    wrong += x.seeded(i) == static_cast<float>(x.data()[i]) ? 0U : 1U;
    wrong += z.seeded(i) == static_cast<float>(z.data()[i]) ? 0U : 1U;
    wrong +=
        x.seeded(i) >= -1 && x.seeded(i) <= 1 && z.seeded(i) >= 2 && z.seeded(i) <= 3 ? 0U : 1U;
  }
  CHECK(wrong == 0);
  CHECK(seen.size() > 50);
  CHECK((*seen.begin() < 0 && *seen.rbegin() > 0));

  make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
  auto const run = [&] {
    for (std::size_t i = 0; i < n; ++i) {
      y.data()[i] = TestType(2 * static_cast<float>(x.data()[i]));
    }
  };
  run();
  CHECK(make.verify() == std::nullopt);
  auto const at = random_bits(seed, 7) % n;
  y.data()[at] = TestType(2 * x.seeded(at) + 1);
  CHECK_THAT(make.verify().value_or("right"),
             contains("element " + std::to_string(at) + " of array 2 is ") &&
                 contains("; 1 of 50003 elements is wrong"));
  run();
  y.data()[at] = made_of<TestType>(~std::uint64_t{0});
  CHECK_THAT(make.verify().value_or("right"),
             contains(" was never written, or computed from what it held, expected "));
  make.restore();
  make.expect(y, [](std::span<double> wanted) {
    for (auto& each : wanted) { each = 1e6; }
  });
  for (std::size_t i = 0; i < n; ++i) { y.data()[i] = made_of<TestType>(narrowed<TestType>(1e6)); }
  CHECK(make.verify() == std::nullopt);  // infinity, or the largest number
}

TEMPLATE_TEST_CASE("a small float may have one unit in the last place", "[arrays]",
                   ALL_SMALL_FLOATS) {
  constexpr auto format = format_of<TestType>;
  auto make = on_host(1);
  auto const y = make.output<TestType>(1);
  auto const one = narrowed<TestType>(1);
  double const epsilon = arrays::widened(format, one + 1) - 1;
  CHECK(default_tolerance<TestType>.relative == epsilon);
  make.expect(y, [](std::size_t) { return 1.0; });
  for (std::uint64_t by = 0; by < 3; ++by) {
    y.data()[0] = made_of<TestType>(one + by);
    CHECK((make.verify() == std::nullopt) == (by < 2));
    CHECK(make.worst().ulps == static_cast<double>(by));
    CHECK(make.worst().share == Approx(static_cast<double>(by)).epsilon(0.05));
  }
  // The roundings of a sum are those of float.
  CHECK(tolerance_for<TestType>(sum_of(100)).absolute ==
        default_tolerance<TestType>.absolute + 200 * 0x1p-24);
  for (auto const& value : std::vector<TestType>{made_of<TestType>(1)}) {
    make.expect(y, [](std::size_t) { return 0.0; });
    y.data()[0] = value;
    CHECK(make.verify() == std::nullopt);
  }
}

TEMPLATE_TEST_CASE("small floats of the caller and special ones", "[arrays]", ALL_SMALL_FLOATS) {
  std::vector<TestType> const data{TestType(1.5F), TestType(-2.0F)};
  auto make = on_host(5);
  auto const a = make.from(data);
  CHECK((a.seeded(0) == 1.5F && a.seeded(1) == -2 && bits(a.data()[1]) == bits(data[1])));
  CHECK_THROWS_AS(a.seeded(2), std::out_of_range);
  CHECK_THROWS_AS(make.output<TestType>(2).seeded(0), std::logic_error);
  constexpr std::size_t n = 500;
  auto const special = [&](special_values kind, uniform<float> range) {
    auto of = on_host(9);
    of.with(kind);
    auto const x = of.random<TestType>(n, range);
    std::vector<float> values;
    for (std::size_t i = 0; i < n; ++i) {
      values.push_back(x.seeded(i));
      CHECK(bits_of<TestType>(narrowed<TestType>(values.back())) ==
            (std::isinf(values.back()) || std::isnan(values.back())
                 ? bits_of<TestType>(narrowed<TestType>(values.back()))
                 : bits(x.data()[i])));
    }
    return values;
  };
  using enum special_values;
  for (float const each : special(zeros, {})) { CHECK(each == 0); }
  for (float const each : special(ones, {0, 4})) { CHECK(each == 1); }
  for (float const each : special(extremes, {-4, 2})) { CHECK((each == -4 || each == 2)); }
  auto const least_normal = std::ldexp(1.0, 1 - int{format_of<TestType>.bias});
  for (float const each : special(denormals, {})) {
    CHECK((each != 0 && std::abs(each) < least_normal));
  }
  int nans = 0;
  for (float const each : special(nan, {})) { nans += std::isnan(each) ? 1 : 0; }
  CHECK((nans > 0 && nans < 50));
  int infinite = 0;
  for (float const each : special(infinities, {})) {
    infinite += std::isfinite(each) ? 0 : 1;
    CHECK((!std::isnan(each) || format_of<TestType> == arrays::e4m3_format));
  }
  CHECK((infinite > 0 && infinite < 50));
}

TEST_CASE("ranges beyond a small format are refused", "[arrays]") {
  auto make = on_host(1);
  CHECK(message_of([&] { (void)make.random<__half>(1, {0, 65505}); }) ==
        "uniform{0, 65505}: the elements hold up to 65504");
  CHECK(message_of([&] { (void)make.random<__nv_fp8_e4m3>(1, {-449, 0}); }) ==
        "uniform{-449, 0}: the elements hold up to 448");
  CHECK(message_of([&] { (void)make.random<__nv_fp8_e5m2>(1, {-57345, 0}); }) ==
        "uniform{-57345, 0}: the elements hold up to 57344");
  CHECK(make.random<__half>(1, {0, 65504}).size() == 1);
  CHECK_THROWS_AS(make.random<__half>(1, {1, 1}), std::invalid_argument);
}
