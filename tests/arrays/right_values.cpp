// SPDX-License-Identifier: Apache-2.0
/// @file
/// Right values of several arrays by one function, and those that several setups share.
#include "arrays/on_host.hpp"
#include "catch.hpp"

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;
using test::on_host;

namespace {

/// A setup that shares the doubles of n random numbers, and the work that has run.
struct doubling {
  doubling(shared_right_values const& right, std::uint64_t seed, std::size_t n,
           std::atomic<int>& calls, double factor = 2, uniform<double> range = {})
      : make(on_host(seed)) {
    auto const x = make.random<double>(n, range);
    y = make.output<double>(n);
    make.share(right);
    make.expect(y, [x, factor, &calls](std::size_t i) {
      ++calls;
      return factor * x.seeded(i);
    });
    for (std::size_t i = 0; i < n; ++i) { y.data()[i] = 2 * x.data()[i]; }
  }
  setup make;
  array_view<double> y;
};

}  // namespace

TEST_CASE("one function says what several arrays hold, and runs once", "[arrays]") {
  auto make = on_host(1);
  int runs = 0;
  auto const y = make.output<float>(3);
  auto const count = make.output<std::int64_t>(1);
  auto const sum = make.output<double>(2);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  make.expect(std::tie(y, count, sum),
              [&runs](std::span<double> a, std::span<std::int64_t> b, std::span<double> c) {
                ++runs;
                for (double& each : a) { each = 1; }
                b[0] = most;
                c[0] = c[1] = 4;
              });
  auto const fill = [&] {
    for (std::size_t i = 0; i < 3; ++i) { y.data()[i] = 1; }
    count.data()[0] = most;
    sum.data()[0] = sum.data()[1] = 4;
  };
  fill();
  CHECK_FALSE(make.verify());
  CHECK_FALSE(make.verify());
  CHECK(runs == 1);
  y.data()[2] = 2;
  CHECK_THAT(make.verify().value_or(""), contains("element 2 of array 0 is 2, expected 1"));
  fill();
  count.data()[0] = most - 1;
  CHECK_THAT(make.verify().value_or(""), contains("element 0 of array 1 is 9223372036854775806"));
  fill();
  sum.data()[1] = 3;
  CHECK_THAT(make.verify().value_or(""), contains("element 1 of array 2 is 3, expected 4"));
  make.poison();
  CHECK_THAT(make.verify().value_or(""), contains("element 0 of array 0 was never written"));
  CHECK(runs == 1);
}

TEST_CASE("several arrays have a tolerance each, one for all, or none", "[arrays]") {
  auto const wrong = [](auto... allowed) {
    auto make = on_host(1);
    auto const a = make.output<double>(1), b = make.output<double>(1);
    make.expect(
        std::tuple{a, b}, [](std::span<double> x, std::span<double> y) { x[0] = y[0] = 8; },
        allowed...);
    a.data()[0] = b.data()[0] = 8.5;
    return make.verify().value_or("right");
  };
  CHECK_THAT(wrong(), contains("array 0"));
  CHECK(wrong(tolerance{.absolute = 1}) == "right");
  CHECK(wrong(tolerance{.absolute = 1}, tolerance{.absolute = 1}) == "right");
  CHECK_THAT(wrong(tolerance{.absolute = 1}, sum_of(2)), contains("array 1"));
  CHECK_THAT(wrong(sum_of(2), tolerance{.absolute = 1}), contains("array 0"));
}

TEST_CASE("a function of several arrays that throws is called again and named", "[arrays]") {
  auto make = on_host(1);
  int runs = 0;
  auto const a = make.output<double>(1), b = make.output<double>(1);
  make.expect(std::tie(a, b), [&runs](std::span<double> x, std::span<double> y) {
    x[0] = y[0] = 1;
    if (++runs < 2) { throw std::runtime_error("not today"); }
  });
  a.data()[0] = b.data()[0] = 1;
  CHECK(message_of([&] { make.verify(); }) ==
        "setup.expect: the function of array 0 threw: not today");
  CHECK_FALSE(make.verify());
  CHECK(runs == 2);
}

TEST_CASE("setups of one seed share right values, and a sample of each is compared", "[arrays]") {
  constexpr std::size_t n = 10'000;
  std::atomic<int> calls = 0;
  shared_right_values const right;
  doubling first{right, 7, n, calls}, second{right, 7, n, calls};
  CHECK_FALSE(first.make.verify());
  CHECK(calls == n);
  second.y.data()[9'998] = 0;
  CHECK_THAT(second.make.verify().value_or(""), contains("element 9998 of array 1 is 0, expected"));
  CHECK(calls == n + 66);
  CHECK(second.make.verify());
  CHECK(calls == n + 66);  // a setup keeps what it took
}

TEST_CASE("setups with other inputs share nothing", "[arrays]") {
  constexpr std::size_t n = 1'000;
  std::atomic<int> calls = 0;
  shared_right_values const right;
  CHECK_FALSE(doubling(right, 7, n, calls).make.verify());
  CHECK_FALSE(doubling(right, 8, n, calls).make.verify());
  CHECK(calls == 2 * n);
  CHECK_FALSE(doubling(right, 8, n, calls, 2, {0, 1}).make.verify());
  CHECK(calls == 3 * n);
  CHECK_FALSE(doubling(right, 8, n + 1, calls).make.verify());
  CHECK(calls == 4 * n + 1);
  CHECK_FALSE(doubling(right, 7, n, calls).make.verify());  // values of one seed alone are kept
  CHECK(calls == 5 * n + 1);
}

TEST_CASE("scalars and the caller's elements are inputs of shared values", "[arrays]") {
  std::vector<float> data(100, 1);
  int runs = 0;
  shared_right_values const right;
  auto const is_right = [&](std::uint64_t choice, special_values of) {
    auto make = on_host(3);
    make.choose_scalars(choice).share(right).with(of);
    auto const alpha = make.scalar<float>("alpha", {1, 3});
    auto const z = make.random<float>(100);
    auto const x = make.from(data);
    auto const y = make.output<float>(x.size());
    make.expect(y, [=, &runs](std::span<double> wanted) {
      ++runs;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i] = double{alpha} * x.seeded(i) + z.seeded(i);
      }
    });
    for (std::size_t i = 0; i < y.size(); ++i) { y.data()[i] = alpha * x.data()[i] + z.data()[i]; }
    return !make.verify(16);
  };
  CHECK(is_right(0, special_values::none));
  CHECK(is_right(0, special_values::none));
  CHECK(runs == 1);
  CHECK(is_right(1, special_values::none));
  CHECK(runs == 2);
  CHECK(is_right(1, special_values::ones));
  CHECK(runs == 3);
  data[99] = 5;
  CHECK(is_right(1, special_values::ones));
  CHECK(runs == 4);
}

TEST_CASE("functions that do not compute the same cannot share right values", "[arrays]") {
  constexpr std::size_t n = 100'000;
  std::atomic<int> calls = 0;
  shared_right_values const right;
  CHECK_FALSE(doubling(right, 7, n, calls).make.verify());
  doubling other{right, 7, n, calls, 3};
  auto const words = message_of([&] { other.make.verify(); });
  CHECK_THAT(words, contains("setup.share: element ") && contains(" of array 1 should be ") &&
                        contains("by this function of expect, and ") &&
                        contains("share only among setups that compute the same"));
  CHECK(message_of([&] { other.make.verify(); }) == words);

  for (std::size_t const at : {std::size_t{0}, n - 1}) {  // the ends are always compared
    shared_right_values const ends;
    auto const with = [&](double last) {
      auto make = on_host(1);
      auto const y = make.output<double>(n);
      make.share(ends);
      make.expect(y, [=](std::size_t i) { return i == at ? last : 0.0; });
      return message_of([&] { make.verify(); });
    };
    CHECK(with(1) == "nothing was thrown");
    CHECK_THAT(with(2), contains("element " + std::to_string(at) + " of array 0 should be 2 by"));
  }
}

TEST_CASE("setups share what one function says of several arrays", "[arrays]") {
  shared_right_values const right;
  int runs = 0;
  for (int i = 0; i < 3; ++i) {
    auto make = on_host(5);
    make.share(right);
    auto const x = make.random<float>(64);
    auto const y = make.output<float>(64), sum = make.output<float>(1);
    make.expect(
        std::tie(y, sum),
        [x, &runs](std::span<double> a, std::span<double> b) {
          ++runs;
          for (std::size_t k = 0; k < a.size(); ++k) { b[0] += a[k] = x.seeded(k); }
        },
        tolerance{}, sum_of(64));
    sum.data()[0] = 0;
    for (std::size_t k = 0; k < 64; ++k) { sum.data()[0] += y.data()[k] = x.data()[k]; }
    CHECK_FALSE(make.verify());
    CHECK(runs == 1);
    sum.data()[0] += 1;
    CHECK_THAT(make.verify().value_or(""), contains("element 0 of array 2 is"));
  }
}
