// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
/// @file
/// `verify` on the host: right work passes, each kind of mistake is found and told, bad input is
/// refused.

#include "catch.hpp"
#include "verify_scale.hpp"

#include <assay/verify.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

using namespace assay;
using assay::test::contains;
using assay::test::in_words;
using assay::test::of_scale;
using assay::test::scale;

TEST_CASE("right work passes at all sizes and values", "[verify]") {
  auto const seen = of_scale(scale);
  INFO(seen);
  REQUIRE(seen);
  CHECK(seen.cases > 100);
  CHECK(seen.left_out.empty());
  CHECK_THAT(in_words(seen), contains("right in " + std::to_string(seen.cases) + " cases"));
}

TEST_CASE("a mistake is told at the smallest size, with the call that repeats it", "[verify]") {
  auto const late = [](std::size_t n, float const* x, float* y) { scale(n - (n > 700), x, y); };
  auto const seen = of_scale(late, {.seed = 7});
  CHECK_FALSE(seen);
  CHECK_THAT(seen.failure, contains("n = 701, zeros: element 700 of array 1 was never written"));
  CHECK_THAT(seen.failure, contains("repeat with assay::verify(..., {.seed = 7, .only = {701}})"));
  auto const again = of_scale(late, {.seed = 7, .only = {701}});
  CHECK(again.failure == seen.failure);
  CHECK(of_scale(late, {.only = {700}}));
}

TEST_CASE("the search for a smaller size takes few calls", "[verify]") {
  int calls = 0;
  auto const seen = of_scale([&calls](std::size_t n, float const* x, float* y) {
    ++calls;
    scale(n, x, y);
    if (n > 65'536) { y[65'536] = 7; }
  });
  CHECK_THAT(seen.failure, contains("n = 65537, zeros: element 65536 of array 1 is 7"));
  CHECK(calls < 1000);  // 535 for the sizes before; all values of a right size take 16
}

TEST_CASE("mistakes of all kinds are found", "[verify]") {
  using floats = float const*;
  CHECK_THAT(
      of_scale([](std::size_t n, floats x, float* y) {
        scale(n, x, y);
        if (n > 300) { y[n] = 0; }
      }).failure,
      contains(
          "n = 301, zeros: it wrote behind array 1, at index 301, where the last one is 300;"));
  CHECK_THAT(of_scale([](std::size_t n, floats x, float* y) {
               scale(n, x, y);
               if (n > 2) { y[-1] = 0; }
             }).failure,
             contains("n = 3, zeros: it wrote before array 1, at index -1;"));
  CHECK_THAT(of_scale([](std::size_t n, floats x, float* y) {
               scale(n, x, y);
               if (n > 5) { const_cast<float*>(x)[5] += 1; }
             }).failure,
             contains("n = 6, zeros: element 5 of array 0, which calls only read"));
  CHECK_THAT(of_scale([](std::size_t n, floats x, float* y) {
               scale(n, x, y);
               for (std::size_t i = 0; i < n; ++i) {
                 if (std::isnan(x[i])) { y[i] = 0; }
               }
             }).failure,
             contains("n = 1, NaN: element 0 of array 1 is 0, expected nan"));
  CHECK_THAT(of_scale([](std::size_t n, floats x, float* y) {
               if (n == 0) { throw std::runtime_error("no elements"); }
               scale(n, x, y);
             }).failure,
             contains("n = 0, zeros: the call threw: no elements") &&
                 contains("pass .only = assay::sizes{}.at_least(1)"));
  int calls = 0;
  CHECK_THAT(of_scale([&calls](std::size_t n, floats x, float* y) {
               scale(n, x, y);
               if (n > 9 && ++calls % 2 == 0) { y[9] = 3; }
             }).failure,
             contains("n = 10, zeros: the same call once more: element 9 of array 1 is 3"));
  // Within the tolerance, but not the same bits.
  CHECK_THAT(of_scale([&calls](std::size_t n, floats x, float* y) {
               scale(n, x, y);
               if (n > 9 && ++calls % 2 == 0) { y[9] = std::nextafter(y[9], 2.0F); }
             }).failure,
             contains("once more gave other bits: element 9 of array 1"));
  // Values of an earlier call, at the same addresses.
  std::vector<float> kept;
  CHECK_THAT(of_scale([&kept](std::size_t n, floats x, float* y) {
               if (kept.size() != n) {
                 kept.resize(n);
                 scale(n, x, kept.data());
               }
               std::copy(kept.begin(), kept.end(), y);
             }).failure,
             contains("n = 1, ones: element 0 of array 1 is 0, expected"));
}

TEST_CASE("what larger sizes leave behind is found", "[verify]") {
  std::size_t most = 0;
  auto const seen = of_scale(
      [&most](std::size_t n, float const* x, float* y) {
        most = std::max(most, n);
        scale(n, x, y);
        if (n > 0 && n < most) { y[n / 2] = 3; }
      },
      {.only = {0, 4, 9, 31}});
  CHECK_THAT(seen.failure,
             contains("n = 9, random values, right before calls of larger sizes and wrong after "
                      "them: element 4 of array 1 is 3") &&
                 contains("repeat with assay::verify(..., {.seed = 1, .only = {0, 4, 9, 31}})"));
}

TEST_CASE("scratch memory is poison, and zeros must stay zeros", "[verify]") {
  auto const with_scratch = [](bool writes) {
    return verify([writes](setup& make, std::size_t n) {
      auto const x = make.random<float>(n);
      auto const sums = make.scratch<float>(1);
      auto const y = make.output<float>(1);
      make.expect(y,
                  [x, n](std::span<double> wanted) {
                    wanted[0] = 0;
                    for (std::size_t i = 0; i < n; ++i) { wanted[0] += x.seeded(i); }
                  },
                  {0, 1e-1});
      return [=] {
        if (writes) { *sums.data() = 0; }
        for (std::size_t i = 0; i < n; ++i) { *sums.data() += x.data()[i]; }
        *y.data() = *sums.data();
      };
    });
  };
  CHECK(with_scratch(true));
  CHECK_THAT(with_scratch(false).failure, contains("n = 0, zeros: element 0 of array 2 is -2.6"));

  auto const counter = verify([](setup& make) {
    auto const count = make.zeros<int>(2);
    auto const y = make.output<int>(1);
    make.expect(y, [](std::size_t) { return 1; });
    return [=] { *y.data() = ++count.data()[1]; };
  });
  CHECK_THAT(counter.failure, contains("zeros: element 1 of array 0, which calls only read or "
                                       "leave as zeros, was changed; repeat with "
                                       "assay::verify(..., {.seed = 1})"));
}

TEST_CASE("shapes have tails in each direction, and shrink in each", "[verify]") {
  auto const transpose = [](bool right) {
    return verify([right](setup& make, std::size_t rows, std::size_t columns) {
      auto const x = make.random<float>(rows * columns);
      auto const y = make.output<float>(rows * columns);
      make.expect(y, [=](std::size_t i) { return x.seeded(i % rows * columns + i / rows); });
      return [=] {
        auto const used = right || columns < 60 ? rows : rows - rows % 2;
        for (std::size_t i = 0; i < used; ++i) {
          for (std::size_t j = 0; j < columns; ++j) {
            y.data()[j * rows + i] = x.data()[i * columns + j];
          }
        }
      };
    });
  };
  auto const right = transpose(true);
  INFO(right);
  CHECK(right);
  CHECK_THAT(transpose(false).failure,
             contains("{1, 60}, zeros: element 0 of array 1 was never written") &&
                 contains(".only = {{1, 60}}"));
}

TEST_CASE("three extents and four are tried", "[verify]") {
  std::set<std::array<std::size_t, 3>> tried;
  auto const cube = verify([&tried](setup& make, std::size_t a, std::size_t b, std::size_t c) {
    tried.insert({a, b, c});
    auto const y = make.output<int>(a * b * c);
    make.expect(y, [](std::size_t i) { return static_cast<int>(i); });
    return [y] {
      for (std::size_t i = 0; i < y.size(); ++i) { y.data()[i] = static_cast<int>(i); }
    };
  });
  CHECK(cube);
  CHECK(tried.contains({17, 31, 33}));
  CHECK(verify([](setup& make, std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
    auto const y = make.output<char>(a * b * c * d);
    make.expect(y, [](std::size_t) { return 1; });
    return [y] { std::fill_n(y.data(), y.size(), char{1}); };
  }));
}

TEST_CASE("rules of sizes hold for all sizes that are tried", "[verify]") {
  std::set<std::size_t> tried;
  auto const sizes_of = [&tried](sizes const& only) {
    tried.clear();
    auto const seen = of_scale(
        [&tried](std::size_t n, float const* x, float* y) {
          tried.insert(n);
          scale(n, x, y);
        },
        {.only = only});
    CHECK(seen);
    return tried;
  };
  for (auto const n : sizes_of(sizes{}.multiple_of(12).at_least(1).at_most(5000))) {
    INFO(n);
    CHECK((n % 12 == 0 && n >= 1 && n <= 5000));
  }
  CHECK(tried.size() > 10);
  for (auto const n : sizes_of(sizes{}.where([](std::size_t each) { return each % 2 == 1; }))) {
    CHECK(n % 2 == 1);
  }
  CHECK(sizes_of({100, 7}) == std::set<std::size_t>{7, 100});
  // The search for a smaller size keeps the rules, too.
  CHECK_THAT(of_scale([](std::size_t, float const*, float*) {},
                      {.only = sizes{}.multiple_of(12).at_least(1)})
                 .failure,
             contains("n = 12, "));
}

TEST_CASE("what cannot be verified is refused in words", "[verify]") {
  auto const nothing = [](setup& make, std::size_t n) {
    auto const y = make.output<int>(n);
    return [y] {};
  };
  CHECK_THROWS_WITH(verify(nothing),
                    contains("the factory expects nothing") && contains("make.expect(array, f)"));
  CHECK_THROWS_WITH(of_scale(scale, {.only = sizes{}.at_least(2).at_most(1)}),
                    contains("35 sizes none is allowed by at least 2, at most 1: name some"));
  CHECK_THROWS_WITH(of_scale(scale, {.only = sizes{257}.multiple_of(4)}),
                    contains("1 size none is allowed by multiples of 4: the list and the rules"));
  auto const one_case = [](setup& make) {
    auto const y = make.output<int>(1);
    make.expect(y, [](std::size_t) { return 3; });
    return [y] { *y.data() = 3; };
  };
  CHECK_THROWS_WITH(verify(one_case, {.only = {257}}),
                    contains("size 257 has 1 extent, and the factory takes none: drop `only`"));
  CHECK_THROWS_WITH(of_scale(scale, {.only = {{64, 33}}}),
                    contains("size {64, 33} has 2 extents, and the factory takes 1"));
  CHECK_THROWS_WITH(of_scale(scale, {.only = sizes{}.multiple_of({4, 4})}),
                    contains("the rule {4, 4} has 2 extents"));
  CHECK_THROWS_WITH(sizes{}.multiple_of(0), contains("multiple of 0"));
  CHECK_THROWS_WITH(sizes{std::vector<shape>{}}, contains("a list without a size"));
  CHECK_THROWS_WITH((shape{1, 2, 3, 4, 5}), contains("5 extents: at most 4"));
  CHECK_THROWS_WITH(of_scale(scale, {.max_seconds = -1}), contains("max_seconds is -1"));
  CHECK_THROWS_WITH(of_scale(scale, {.max_call_seconds = 0}), contains("max_call_seconds is 0"));
}

TEST_CASE("a factory that throws fails at that size, one without memory leaves it out",
          "[verify]") {
  auto const throwing = [](bool memory) {
    return verify([memory](setup& make, std::size_t n) {
      if (n >= 512 && memory) { throw std::bad_alloc{}; }
      if (n >= 512) { throw std::runtime_error("too many for it"); }
      auto const y = make.output<int>(n);
      make.expect(y, [](std::size_t) { return 3; });
      return [y] { std::fill_n(y.data(), y.size(), 3); };
    });
  };
  CHECK_THAT(throwing(false).failure,
             contains("n = 512, zeros: the factory threw: too many for it"));
  auto const without = throwing(true);
  CHECK(without);
  REQUIRE(without.left_out.size() > 1);
  CHECK(without.left_out[0] == "size 512: no host memory");
}

TEST_CASE("what a factory, a call or a right value throws is a failure of that size", "[verify]") {
  enum class where { factory, call, right_value, no_right_value };
  auto const throwing = [](where at) {
    return verify([at](setup& make, std::size_t n) {
      if (at == where::factory && n >= 33) { throw 42; }
      auto const y = make.output<float>(n);
      make.expect(y, [at, n](std::size_t i) {
        if (at == where::right_value && n >= 33 && i == 32) { throw std::runtime_error("no 32"); }
        return at == where::no_right_value && n >= 33 ? std::nan("") : 3.0;
      });
      return [=] {
        if (at == where::call && n >= 33) { throw 42; }
        std::fill_n(y.data(), y.size(), 3.0F);
      };
    });
  };
  std::map<where, std::string> const told{
      {where::factory, "n = 33, zeros: the factory threw an exception of unknown type"},
      {where::call, "n = 33, zeros: the call threw an exception of unknown type"},
      {where::right_value, "n = 33, zeros: setup.expect: the function of array 0 threw: no 32"},
      {where::no_right_value, "n = 33, zeros: setup.expect: the right value of element 0"}};
  for (auto const& [at, text] : told) {
    auto const seen = throwing(at);
    CHECK_THAT(seen.failure, contains(text) && contains(".only = {33}"));
  }
}

TEST_CASE("a factory says what its work does not promise", "[verify]") {
  using floats = float const*;
  auto const scaled = [](bool finite, bool unordered, std::size_t alignment, auto work) {
    return verify([=](setup& make, std::size_t n) {
      if (finite) { make.finite(); }
      if (unordered) { make.unordered(); }
      if (alignment > 1) { make.align(alignment); }
      auto const x = make.random<float>(n);
      auto const y = make.output<float>(n);
      make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
      return [=] { work(n, x.data(), y.data()); };
    });
  };
  auto const all = scaled(false, false, 1, scale);
  CHECK(all);

  auto const finite = [](std::size_t n, floats x, float* y) {
    for (std::size_t i = 0; i < n; ++i) { y[i] = std::isfinite(x[i]) ? 2 * x[i] : 0; }
  };
  CHECK_THAT(scaled(false, false, 1, finite).failure, contains("n = 1, NaN: "));
  auto const of_finite = scaled(true, false, 1, finite);
  CHECK(of_finite);
  CHECK(of_finite.cases == all.cases - 70);  // two kinds of values at 35 sizes
  auto const infinite = [](std::size_t n, floats x, float* y) {
    for (std::size_t i = 0; i < n; ++i) { y[i] = std::isinf(x[i]) ? 0 : 2 * x[i]; }
  };
  CHECK_THAT(scaled(false, false, 1, infinite).failure, contains("n = 1, infinities: "));

  int calls = 0;
  auto const varying = [&calls](std::size_t n, floats x, float* y) {
    scale(n, x, y);
    if (n > 9 && ++calls % 2 == 0) { y[9] = std::nextafter(y[9], 2.0F); }
  };
  CHECK_THAT(scaled(false, false, 1, varying).failure, contains("call make.unordered()"));
  CHECK(scaled(false, true, 1, varying));

  auto const in_fours = [](std::size_t n, floats x, float* y) {
    if (std::bit_cast<std::uintptr_t>(x) % 16 != 0) { throw std::runtime_error("misaligned"); }
    scale(n, x, y);
  };
  CHECK_THAT(scaled(false, false, 1, in_fours).failure,
             contains("begin one element beyond a multiple of 256 bytes: the call threw: "
                      "misaligned; where callers align arrays, call make.align(16)"));
  CHECK(scaled(false, false, 16, in_fours));
}

TEST_CASE("scalars take all their values, and failures name them", "[verify]") {
  std::set<std::array<double, 2>> seen_pairs;
  auto const axpb = [&](bool fixed) {
    return verify(
        [&seen_pairs, fixed](setup& make, std::size_t n) {
          auto const a = make.scalar("a", {1.0F, 0.0F, -2.5F});
          auto const b = make.scalar("b", {3, 7});
          seen_pairs.insert({a, static_cast<double>(b)});
          auto const x = make.random<float>(n);
          auto const y = make.output<float>(n);
          make.expect(y, [=](std::size_t i) { return double{a} * x.seeded(i) + b; });
          return [=] {
            auto const used = fixed ? 3 : b;
            for (std::size_t i = 0; i < n; ++i) {
              y.data()[i] = a * x.data()[i] + static_cast<float>(used);
            }
          };
        },
        {.only = sizes{}.at_least(1)});
  };
  auto const right = axpb(false);
  INFO(right);
  CHECK(right);
  CHECK(seen_pairs.size() == 6);
  CHECK_THAT(axpb(true).failure, contains("n = 1, ") && contains("b = 7: element 0 of array 1"));
}

TEST_CASE("the smallest size fails with some scalars, and the printed call shows it", "[verify]") {
  // Wrong for one of nine pairs, with NaN: no size meets all of these in turn.
  auto const scaled = [](verify_options const& chosen, float bad_alpha, float bad_beta) {
    return verify(
               [=](setup& make, std::size_t n) {
                 auto const alpha = make.scalar("alpha", {0.0F, 1.0F, -2.5F});
                 auto const beta = make.scalar("beta", {0.0F, 1.0F, -2.5F});
                 auto const x = make.random<float>(n);
                 auto const y = make.named("y").output<float>(n);
                 make.expect(y, [=](std::size_t i) { return x.seeded(i); });
                 return [=] {
                   bool const is_bad = alpha == bad_alpha && beta == bad_beta;
                   for (std::size_t i = 0; i < n; ++i) {
                     y.data()[i] = is_bad && std::isnan(x.data()[i]) ? 0 : x.data()[i];
                   }
                 };
               },
               chosen)
        .failure;
  };
  for (float const alpha : {0.0F, 1.0F, -2.5F}) {
    for (float const beta : {0.0F, 1.0F, -2.5F}) {
      auto const failure = scaled({}, alpha, beta);
      CHECK_THAT(failure, contains("n = 1, NaN, alpha = ") && contains(".only = {1}})"));
      CHECK(scaled({.seed = 1, .only = {1}}, alpha, beta) == failure);
    }
  }
}

TEST_CASE("scalars may decide the sizes of arrays", "[verify]") {
  auto const strided = [](std::size_t behind) {
    return verify([behind](setup& make, std::size_t n) {
      auto const stride = make.scalar("stride", {1, 2, 3});
      auto const x = make.random<float>(n * static_cast<std::size_t>(stride));
      auto const y = make.output<float>(n);
      auto const at = [=](std::size_t i) { return i * static_cast<std::size_t>(stride); };
      make.expect(y, [=](std::size_t i) { return x.seeded(at(i)); });
      return [=] {
        for (std::size_t i = 0; i < n; ++i) { y.data()[i] = x.data()[at(i)]; }
        if (stride == 2 && n > 0) { x.data()[x.size() + behind - 1] = 0; }
      };
    });
  };
  CHECK_THAT(strided(1).failure,
             contains("stride = 2: it wrote behind array 0, at index 2, where the last one is 1;"));
  auto const seen = verify([](setup& make, std::size_t n) {
    auto const twice = make.scalar("twice", {0, 1});
    auto const y = make.output<int>(n << twice);
    make.expect(y, [](std::size_t i) { return static_cast<int>(i); });
    return [=] { std::iota(y.data(), y.data() + y.size(), 0); };
  });
  INFO(seen);
  CHECK(seen);
}

TEST_CASE("each scalar meets each kind of values, whatever the sizes have in common", "[verify]") {
  std::set<double> with_nan;
  CHECK(verify(
      [&](setup& make, std::size_t n) {
        auto const beta = make.scalar("beta", {0.0F, 1.0F});
        auto const x = make.random<float>(n);
        auto const y = make.output<float>(n);
        for (std::size_t i = 0; i < n; ++i) {
          if (std::isnan(x.seeded(i))) { with_nan.insert(beta); }
        }
        make.expect(y, [x](std::size_t i) { return x.seeded(i); });
        return [=] { std::copy_n(x.data(), n, y.data()); };
      },
      {.only = sizes{}.multiple_of(4)}));
  CHECK(with_nan == std::set<double>{0, 1});
  std::set<int> of_one_size;
  CHECK(verify([&](setup& make) {
    of_one_size.insert(make.scalar("mode", {0, 1, 2, 3, 4, 5, 6, 7}));
    auto const y = make.output<float>(8);
    make.expect(y, [](std::size_t i) { return i; });
    return [=] { std::iota(y.data(), y.data() + 8, 0.0F); };
  }));
  CHECK(of_one_size.size() == 8);
  // Without sizes, and at those of a list, each kind of values meets each combination.
  std::set<std::array<double, 2>> pairs_with_nan;
  auto const of_list = [&](setup& make, std::size_t n) {
    auto const a = make.scalar("a", {0, 1, 2}), b = make.scalar("b", {0, 1, 2, 3, 4});
    auto const y = make.random<float>(n);
    if (n > 0 && std::isnan(y.seeded(0))) { pairs_with_nan.insert({1.0 * a, 1.0 * b}); }
    auto const z = make.output<float>(n);
    make.expect(z, [](std::size_t i) { return i; });
    return [=] { std::iota(z.data(), z.data() + n, 0.0F); };
  };
  CHECK(verify(of_list, {.only = {1}}));
  CHECK(pairs_with_nan.size() == 15);
}

TEST_CASE("results without expectations are named, and progress is told", "[verify]") {
  std::vector<std::string> told;
  auto const seen = verify(
      [](setup& make, std::size_t n) {
        auto const y = make.output<int>(n);
        auto const sum = make.output<int>(1);
        make.expect(y, [](std::size_t) { return 3; });
        return [=] {
          std::fill_n(y.data(), n, 3);
          *sum.data() = static_cast<int>(3 * n);
        };
      },
      {.only = {1, 257}, .progress = [&](std::string const& words) { told.push_back(words); }});
  CHECK(seen);
  CHECK(seen.notes ==
        std::vector<std::string>{"array 1 is not checked: nothing is expected of it"});
  CHECK(told == std::vector<std::string>{"size 1, 1 of 2", "size 257, 2 of 2"});
}

TEST_CASE("the size beyond 2^31 bytes is tried where it is asked for, and where memory allows",
          "[verify]") {
  auto const seen = [](bool huge, sizes const& only = {0, 7}) {
    return verify(
        [](setup& make, std::size_t n) {
          if (n > 1'000'000'000 / sizeof(float)) { throw std::bad_alloc{}; }
          auto const y = make.output<float>(n);
          make.expect(y, [](std::size_t) { return 3; });
          return [y] { std::fill_n(y.data(), y.size(), 3.0F); };
        },
        {.only = only, .huge = huge});
  };
  CHECK(seen(false).left_out.empty());
  auto const huge = seen(true);
  CHECK(huge);
  CHECK(huge.left_out == std::vector<std::string>{"size 536870913: no host memory"});
  CHECK(seen(true, sizes{}.multiple_of(4)).left_out.back() == "size 536870916: no host memory");
  CHECK(seen(true, sizes{}.at_most(100)).left_out ==
        std::vector<std::string>{"size 536870913: not one of at most 100"});
}

TEST_CASE("sizes beyond the time limit are named", "[verify]") {
  auto const seen = of_scale(scale, {.max_seconds = 0});
  CHECK_FALSE(seen);  // nothing ran
  CHECK(seen.left_out.size() == 35);
  CHECK(seen.left_out[0] == "size 0: the limit of 0 s was over");
  CHECK_THAT(in_words(seen), contains("nothing was checked"));
}

TEST_CASE("another implementation says what is right, and is checked where arrays are small",
          "[verify]") {
  auto const scaled_by = [](float factor, float reference_factor, bool checks) {
    return verify(
        [=](setup& make, std::size_t n) {
          auto const x = make.random<float>(n);
          auto const y = make.output<float>(n);
          auto const count = make.output<int>(n);
          auto const reference = [=](float* out) {
            for (std::size_t i = 0; i < n; ++i) { out[i] = reference_factor * x.data()[i]; }
          };
          if (checks) {
            make.expect_from(y, reference, [x](std::size_t i) { return 2.0 * x.seeded(i); });
          } else {
            make.expect_from(y, reference, sum_of(1));
          }
          make.expect_from(count, [n](int* out) { std::fill_n(out, n, 5); });
          return [=] {
            for (std::size_t i = 0; i < n; ++i) { y.data()[i] = factor * x.data()[i]; }
            std::fill_n(count.data(), n, 5);
          };
        },
        {.only = {0, 33, 100'000}});
  };
  CHECK(scaled_by(2, 2, true));
  CHECK(scaled_by(3, 3, false));  // nothing tells that both are wrong
  CHECK_THAT(scaled_by(3, 3, true).failure, contains("the reference itself is wrong: element"));
  CHECK_THAT(scaled_by(3, 2, false).failure, contains("n = 33, ones: element 0 of array 1 is"));
}

TEST_CASE("a list of shapes that the program made is tried, and samples are named", "[verify]") {
  std::vector<shape> listed;
  for (std::size_t i = 1; i <= 3; ++i) { listed.push_back({10 * i, 7}); }
  std::vector<shape> seen;
  auto const found = verify(
      [&seen](setup& make, std::size_t rows, std::size_t columns) {
        seen.push_back({rows, columns});
        auto const y = make.output<float>(matrix{rows, columns});
        make.expect(
            y, [](std::size_t row, std::size_t) { return row; }, default_tolerance<float>,
            sampled{16});
        return [y] {
          for (std::size_t i = 0; i < y.size(); ++i) {
            y.data()[i] = static_cast<float>(i / y.leading_dimension());
            if (i % y.leading_dimension() + 1 == y.columns()) {
              i += y.leading_dimension() - y.columns();
            }
          }
        };
      },
      {.only = listed});
  INFO(found);
  CHECK(found);
  for (auto const& each : listed) {
    CHECK(std::find(seen.begin(), seen.end(), each) != seen.end());
  }
  REQUIRE(found.notes.size() == 1);
  CHECK(found.notes[0] == "array 0 is checked by samples of 16 elements where it has more");
}
