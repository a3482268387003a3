// SPDX-License-Identifier: Apache-2.0
/// @file
/// Declarations that cannot be right are refused in one line, and wrong arrays name the worst
/// element.
#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrays/on_host.hpp"
#include "catch.hpp"

using namespace assay;
using assay::test::contains;
using assay::test::message_of;
using assay::test::on_host;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t many = 100'003;  // enough for several threads

/// What `verify` says or throws of `many` elements that are i and have this expectation.
template <class F>
std::string said(F expected, tolerance allowed = default_tolerance<double>) {
  auto make = on_host();
  (void)make.random<float>(3);
  auto const y = make.output<double>(many);
  make.expect(y, expected, allowed);
  for (std::size_t i = 0; i < many; ++i) { y.data()[i] = static_cast<double>(i); }
  std::string text;
  auto const thrown = message_of([&] { text = make.verify().value_or("right"); });
  auto const one = text.empty() ? thrown : text;
  CHECK(std::count(one.begin(), one.end(), '\n') == 0);
  return one;
}

}  // namespace

TEST_CASE("a wrong array has its first wrong element and its largest error") {
  CHECK(said([](std::size_t i) { return static_cast<double>(i); }) == "right");
  CHECK(
      said(
          [](std::size_t i) {
            return static_cast<double>(i) + (i == 7 ? 0.5 : i == 90'000 ? -8 : i == 70'000 ? 2 : 0);
          },
          {.absolute = 0.25}) ==
      "element 7 of array 1 is 7, expected 7.5 (tolerance 0.25; 3 of 100003 elements are wrong, "
      "the largest error is 8 at element 90000); worst error: 5.5e+11 ulp, 32 times its bound, at "
      "element 90000 of array 1");
  CHECK_THAT(said([](std::size_t i) { return static_cast<double>(i) + (i == 9 ? 3 : 0); }),
             contains("; 1 of 100003 elements is wrong, by 3)"));
  // The first of several that are equally wrong, whichever thread finds it.
  CHECK_THAT(said([](std::size_t i) { return static_cast<double>(i) + (i > 50 ? 4 : 0); }),
             contains("99952 of 100003 elements are wrong, the largest error is 4 at element 51)"));
  auto make = on_host();
  auto const y = make.output<std::int64_t>(3);
  constexpr auto big = std::int64_t{1} << 60;
  make.expect(y, [](std::size_t) { return big; });
  for (int i = 0; i < 3; ++i) { y.data()[i] = big + i; }
  CHECK_THAT(*make.verify(), contains("the largest error is 2 at element 2)"));
  auto unwritten = on_host();
  auto const z = unwritten.output<float>(3);
  unwritten.expect(z, [](std::size_t) { return 1; });
  z.data()[0] = 100;
  CHECK_THAT(*unwritten.verify(),
             contains("3 of 3 elements are wrong, the error at element 1 is no number)"));
}

TEST_CASE("a function of right values that throws is told with its array") {
  auto const expected = std::string{"setup.expect: the function of array 1 threw: no such element"};
  CHECK(said([](std::size_t i) -> double {
          if (i == 99'000) { throw std::out_of_range("no such element"); }
          return static_cast<double>(i);
        }) == expected);
  CHECK(said([](std::span<double>) { throw std::runtime_error("no such element"); }) == expected);
  CHECK(said([](std::size_t, std::span<double>, std::span<double>) {
          throw std::invalid_argument("no such element");
        }) == expected);
  CHECK(said([](std::size_t) -> double { throw 5; }) ==
        "setup.expect: the function of array 1 threw an exception of unknown type");
  auto make = on_host();
  auto const y = make.output<float>(3);
  make.expect_that(y, [](std::span<float const>) -> std::optional<std::string> {
    throw std::runtime_error("no such element");
  });
  CHECK(message_of([&] { make.verify(); }) ==
        "setup.expect: the function of array 0 threw: no such element");
}

TEST_CASE("a whole-array function that threw is called again and not taken for zeros") {
  auto make = on_host();
  auto const y = make.output<double>(3);
  auto const calls = std::make_shared<int>(0);
  make.expect(y, [calls](std::span<double> wanted) {
    if (++*calls == 1) { throw std::runtime_error("the first time"); }
    std::fill(wanted.begin(), wanted.end(), 2.0);
  });
  for (int i = 0; i < 3; ++i) { y.data()[i] = 0; }
  CHECK_THAT(message_of([&] { make.verify(); }), contains("the first time"));
  CHECK_THAT(*make.verify(), contains("element 0 of array 0 is 0, expected 2"));
}

TEST_CASE("NaN is a right value only where that is asked for") {
  auto const refused =
      "setup.expect: the right value of element 80000 of array 1 is NaN: mend its "
      "function, or set the member nan of its tolerance";
  auto const by_element = [](std::size_t i) {
    return i == 80'000 ? not_a_number : static_cast<double>(i);
  };
  CHECK(said(by_element) == refused);
  CHECK(said([&](std::span<double> wanted) {
          for (std::size_t i = 0; i < wanted.size(); ++i) { wanted[i] = by_element(i); }
        }) == refused);
  auto const by_part = [&](double error) {
    return
        [by_element, error](std::size_t first, std::span<double> wanted, std::span<double> errors) {
          for (std::size_t k = 0; k < wanted.size(); ++k) {
            wanted[k] = by_element(first + k);
            errors[k] = error;
          }
        };
  };
  CHECK(said(by_part(0.5)) == refused);
  CHECK_THAT(said(by_part(0)), contains("element 80000 of array 1 is 80000, expected nan"));
  CHECK_THAT(said(by_part(not_a_number)),
             contains("element 80000 of array 1 is 80000, expected nan"));
  CHECK_THAT(said(by_part(-1)), contains(" is -1: at least 0 is needed"));
  CHECK_THAT(said(by_element, {.relative = 1e-9, .nan = true}),
             contains("element 80000 of array 1 is 80000, expected nan"));

  // Special values ask for it.
  auto special = on_host();
  special.with(special_values::nan);
  auto const x = special.random<float>(1000);
  special.with(special_values::none);
  auto const y = special.output<float>(1000);
  special.expect(y, [x](std::size_t i) { return 2 * static_cast<double>(x.seeded(i)); });
  for (std::size_t i = 0; i < 1000; ++i) { y.data()[i] = 2 * x.data()[i]; }
  CHECK(special.verify() == std::nullopt);
}

TEST_CASE("a tolerance is a finite number of at least 0") {
  auto make = on_host();
  auto const y = make.output<double>(3);
  auto const one = [](std::size_t) { return 1; };
  for (double const bad : {-1.0, not_a_number, std::numeric_limits<double>::infinity()}) {
    CHECK_THAT(message_of([&] { make.expect(y, one, {.relative = bad}); }),
               contains("relative tolerance (") && contains("finite number of at least 0"));
    CHECK_THAT(message_of([&] { make.expect(y, one, {.absolute = bad}); }),
               contains("absolute tolerance (") && contains("finite number of at least 0"));
  }
}

TEST_CASE("memory of the caller is not declared as read and as written at once") {
  std::vector<float> data(10, 1);
  auto const text =
      "setup.inout: its 40 bytes overlap those of array 0 of this setup: declare "
      "memory that a call writes once, by inout, or give one of the two a copy";
  auto make = on_host();
  (void)make.from(data);
  CHECK(message_of([&] { (void)make.inout(data); }) == text);
  CHECK_THAT(message_of([&] { (void)make.output_in(std::span{data}); }),
             contains("setup.output_in: its 40 bytes overlap those of array 0"));
  CHECK_THAT(message_of([&] { (void)make.inout(std::span{data}.subspan(9)); }),
             contains("its 4 bytes overlap"));
  (void)make.from(data);  // two inputs may be one
  (void)make.from(std::span{data}.subspan(5));
  auto other = on_host();
  (void)other.inout(std::span{data}.first(5));
  (void)other.from(std::span{data}.subspan(5));  // neighbours
  CHECK_THAT(message_of([&] { (void)other.from(std::span{data}.subspan(4)); }),
             contains("setup.from: its 24 bytes overlap those of array 0"));
  CHECK_THAT(message_of([&] { (void)other.inout(std::span{data}.first(5)); }),
             contains("setup.inout"));
}
