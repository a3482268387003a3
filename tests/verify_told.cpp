// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a failure of `verify` tells: the array by its name, the worst error, and the call that
/// repeats it; and what is left out.

#include "catch.hpp"
#include "verify_scale.hpp"

#include <assay/verify.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

using namespace assay;
using assay::test::contains;
using assay::test::in_words;
using assay::test::scale;

namespace {

template <class Work>
verification of_named_scale(Work work, verify_options const& chosen = {}) {
  return test::of_scale(work, chosen, true);
}

}  // namespace

TEST_CASE("a failure tells the worst error in ulps and in units of its bound, and where",
          "[verify]") {
  auto const by = [](float factor) {
    return [factor](std::size_t n, float const*, float* y) {
      std::fill_n(y, n, 1.0F);
      if (n > 6) { y[2] = y[6] = 1 + factor; }
      if (n > 6) { y[3] = 1 + 2 * factor; }
    };
  };
  auto const ones = [](auto work, auto... allowed) {
    return verify([=](setup& make, std::size_t n) {
      auto const y = make.named("y").output<float>(n);
      make.expect(y, [](std::size_t) { return 1; }, allowed...);
      return [=] { work(n, nullptr, y.data()); };
    });
  };
  constexpr float epsilon = 1.1920929e-7F;  // one unit in the last place of 1
  CHECK_THAT(ones(by(64 * epsilon), tolerance{32 * epsilon}).failure,
             contains("element 2 of y is 1.00000763, expected 1 (tolerance 3.81e-06; 3 of 7 "
                      "elements are wrong, the largest error is 1.53e-05 at element 3); worst "
                      "error: 128 ulp, 4 times its bound, at element 3 of y; repeat with"));
  CHECK_THAT(ones(by(epsilon), tolerance{}).failure,
             contains("; worst error: 2 ulp, where no error is permitted, at element 3 of y;"));
  CHECK_THAT(ones([](std::size_t, float const*, float*) {}).failure,
             contains("element 0 of y was never written, ") &&
                 contains("; worst error: no number, at element 0 of y;"));
  CHECK_THAT(
      ones([](std::size_t n, float const*, float* y) { std::fill_n(y, n, 1 / 0.0F); }).failure,
      contains("; worst error: infinite, at element 0 of y;"));
  CHECK_THAT(verify([](setup& make) {
               auto const count = make.named("count").output<int>(3);
               make.expect(count, [](std::size_t) { return 4; }, tolerance{0, 1});
               return [=] { std::fill_n(count.data(), 3, 7); };
             }).failure,
             contains("element 0 of count is 7, expected 4 (tolerance 1; 3 of 3 elements") &&
                 contains("; worst error: 3, 3 times its bound, at element 0 of count;"));
  // In rows, by row and column.
  CHECK_THAT(verify([](setup& make) {
               auto const c = make.named("c").output<float>(matrix{2, 3});
               make.expect(c, [](std::size_t row, std::size_t) { return row; });
               return [=] {
                 for (std::size_t i = 0; i < c.size(); ++i) { c.data()[i] = i < 3 ? 0 : 3; }
               };
             }).failure,
             contains("; worst error: 1.68e+07 ulp, 2.1e+06 times its bound, at row 1, column 0 "
                      "of c (leading dimension 3);"));
  // The right ones tell the worst error by name, too.
  auto const seen = ones(by(epsilon));
  CHECK(seen);
  CHECK_THAT(in_words(seen),
             contains("largest error: 2 ulp, 0.25 of its bound, at element 3 of y"));
}

TEST_CASE("a changed red zone is told with its side and with the indices", "[verify]") {
  auto const of_writes = [](std::vector<std::ptrdiff_t> const& at) {
    return of_named_scale(
               [&at](std::size_t n, float const* x, float* y) {
                 scale(n, x, y);
                 for (auto const i : at) { y[i] = 3; }
               },
               {.only = {9}})
        .failure;
  };
  CHECK_THAT(of_writes({9}), contains("it wrote behind y, at index 9, where the last one is 8;"));
  CHECK_THAT(of_writes({9, 12, 20}), contains("it wrote behind y, at indices 9 to 20, where"));
  CHECK_THAT(of_writes({-1}), contains("it wrote before y, at index -1;"));
  CHECK_THAT(of_writes({-7, -3}), contains("it wrote before y, at indices -7 to -3;"));
  CHECK_THAT(of_writes({-2, 11}), contains("it wrote before y, at index -2, and behind y, at index "
                                           "11, where the last one is 8;"));
}

TEST_CASE("errors of NaN and beside 0 are told without numbers that say nothing", "[verify]") {
  auto const of_ones = [](float got, double wanted, auto... allowed) {
    return verify([=](setup& make) {
             auto const y = make.named("y").output<float>(1);
             make.expect(y, [wanted](std::size_t) { return wanted; }, allowed...);
             return [=] { *y.data() = got; };
           })
        .failure;
  };
  CHECK_THAT(of_ones(std::nanf(""), 2), contains("element 0 of y is nan, expected 2 (tolerance "
                                                 "1.91e-06; 1 of 1 elements is wrong); worst "
                                                 "error: no number, at element 0 of y;"));
  CHECK_THAT(of_ones(-std::nanf(""), 2), contains("element 0 of y is nan, expected 2 ("));
  CHECK_THAT(
      of_ones(1, std::nan(""), tolerance{.nan = true}),
      contains("element 0 of y is 1, expected nan (") && contains("1 of 1 elements is wrong); "
                                                                  "worst error: no number,"));
  CHECK_THAT(of_ones(0.5F, 0),
             contains("expected 0 (tolerance 1.18e-38; 1 of 1 elements is wrong, "
                      "by 0.5); worst error: 0.5 where 0 is expected, at element"));
  CHECK_THAT(
      of_ones(0.5F, 0, tolerance{0, 0.125}),
      contains("worst error: 0.5 where 0 is expected, 4 times its bound, at element 0 of y"));
  auto const right = verify([](setup& make) {
    auto const y = make.named("y").output<float>(1);
    make.expect(y, [](std::size_t) { return 0; }, tolerance{0, 1});
    return [=] { *y.data() = 0.5; };
  });
  CHECK_THAT(in_words(right),
             contains("largest error: 0.5 where 0 is expected, 0.5 of its bound, at "
                      "element 0 of y"));
}

TEST_CASE("messages have the names of arrays in place of their numbers", "[verify]") {
  using floats = float const*;
  CHECK_THAT(
      of_named_scale([](std::size_t n, floats x, float* y) { scale(n - (n > 256), x, y); }).failure,
      contains("n = 257, zeros: element 256 of y was never written, expected 0 "));
  CHECK_THAT(of_named_scale([](std::size_t n, floats x, float* y) {
               scale(n, x, y);
               y[n] = 0;
             }).failure,
             contains("it wrote behind y, which is empty;"));
  CHECK_THAT(of_named_scale([](std::size_t n, floats x, float* y) {
               scale(n, x, y);
               if (n > 0) { const_cast<float*>(x)[0] += 1; }
             }).failure,
             contains("element 0 of x, which calls only read"));
  auto const throwing = [](setup& make) {
    make.named("first");
    auto const a = make.output<float>(matrix{3, 5});
    auto const b = make.output<float>(2);
    auto const c = make.named("unchecked").output<float>(2);
    make.expect(b, [](std::size_t) { return 0; });
    make.expect(
        a, [](std::size_t i) -> double { throw std::runtime_error("no " + std::to_string(i)); });
    return [=] { std::fill_n(b.data(), 2, 0.0F), std::fill_n(c.data(), 2, 0.0F); };
  };
  CHECK_THAT(verify(throwing).failure, contains("setup.expect: the function of first threw: no "));
  auto const notes = verify([](setup& make) {
                       auto const y = make.named("y").output<float>(9);
                       auto const z = make.named("z").output<float>(9);
                       (void)make.named("w").output<float>(9);
                       make.expect(y, [](std::size_t) { return 0; }, sampled{4});
                       make.expect(z, [](std::size_t) { return 0; });
                       return [=] {
                         std::fill_n(y.data(), 9, 0.0F);
                         std::fill_n(z.data(), 9, 0.0F);
                       };
                     }).notes;
  CHECK(notes == std::vector<std::string>{"y is checked by samples of 4 elements where it has more",
                                          "w is not checked: nothing is expected of it"});
  CHECK_THAT(verify([](setup& make) {
               auto const y = make.named("y").output<float>(9);
               (void)make.named("y").output<float>(9);
               make.expect(y, [](std::size_t) { return 0; });
               return [=] {};
             }).failure,
             contains("the factory threw: setup.named: another array has the name y already"));
}

TEST_CASE("the call that repeats a failure tries what failed, and no other size", "[verify]") {
  // Right for multiples of 8 alone, and wrong from 256 on.
  auto const in_eights = [](std::size_t n, float const* x, float* y) {
    if (n % 8 != 0) { throw std::runtime_error("no multiple of 8"); }
    scale(n, x, y);
    if (n >= 256) { y[255] = 7; }
  };
  auto const first = of_named_scale(in_eights, {.only = sizes{}.multiple_of(8)}).failure;
  CHECK_THAT(first, contains("n = 256, zeros: element 255 of y is 7") &&
                        contains("repeat with assay::verify(..., {.seed = 1, .only = {256}})"));
  CHECK(of_named_scale(in_eights, {.seed = 1, .only = {256}}).failure == first);
  CHECK(of_named_scale(in_eights, {.only = sizes{256, 1000}.multiple_of(8)}).failure == first);
  CHECK_THAT(of_named_scale(in_eights, {.only = {64, 1000}}).failure,
             contains("n = 1000, zeros: "));
  // Options that change what runs are repeated.
  CHECK_THAT(of_named_scale(in_eights, {.seed = 3, .only = {256}, .concurrent = false}).failure,
             contains("(..., {.seed = 3, .only = {256}, .concurrent = false})"));
}

TEST_CASE("a failure at the huge size repeats at that size", "[verify]") {
  std::vector<std::size_t> sizes_seen;
  auto const of_huge = [&](verify_options const& chosen) {
    sizes_seen.clear();
    return verify(
               [&](setup& make, std::size_t n) {
                 sizes_seen.push_back(n);
                 auto const y = make.output<int>(1 + n / 1'000'000);
                 make.expect(y, [](std::size_t i) { return static_cast<int>(i); });
                 return [=] {
                   for (std::size_t i = 0; i < y.size(); ++i) { y.data()[i] = static_cast<int>(i); }
                   if (n > 536'870'912) { y.data()[9] = 0; }
                 };
               },
               chosen)
        .failure;
  };
  auto const first = of_huge({.only = sizes{}.multiple_of(4), .huge = true});
  CHECK_THAT(first, contains("n = 536870916, random values: element 9 of array 0 is 0") &&
                        contains("{.seed = 1, .only = {536870916}})"));
  CHECK(of_huge({.seed = 1, .only = {536870916}}) == first);
  CHECK(sizes_seen == std::vector<std::size_t>{536'870'916});
}

TEST_CASE("a failure that needs calls of other sizes repeats with these", "[verify]") {
  // It keeps what the first call of the process needs.
  auto const kept_from_first = [](verify_options const& chosen) {
    std::size_t room = 0;
    int calls = 0;
    return of_named_scale(
               [&](std::size_t n, float const* x, float* y) {
                 room = std::max(room, n);
                 scale(n, x, y);
                 if (n == 64 && room == 64 && ++calls == 3) { y[5] = 0.125F; }
               },
               chosen)
        .failure;
  };
  auto const odd = [](std::size_t n) { return n % 3 == 1; };
  auto const failure = kept_from_first({.only = sizes{}.multiple_of(16).at_most(300).where(odd)});
  CHECK_THAT(failure,
             contains("n = 64, ones: ") && contains("; right when that size was tried once "
                                                    "more by itself; repeat with "
                                                    "assay::verify(..., {.seed = 1, .only "
                                                    "= {16, 64}})"));
  CHECK(kept_from_first({.seed = 1, .only = {16, 64}}) == failure);
}

TEST_CASE("a lack of memory leaves a size out, wherever it is met", "[verify]") {
  auto const seen = verify([](setup& make, std::size_t n) {
    auto const y = make.output<int>(n);
    make.expect(y, [n](std::size_t i) {
      if (n > 4000) { throw std::bad_alloc{}; }
      return static_cast<int>(i);
    });
    return [=] {
      if (n == 769) { throw std::bad_alloc{}; }
      for (std::size_t i = 0; i < n; ++i) { y.data()[i] = static_cast<int>(i); }
    };
  });
  CHECK(seen);
  std::string const in_f = ": setup.expect: the function of array 0 threw: std::bad_alloc";
  CHECK(seen.left_out == std::vector<std::string>{"size 769: no host memory", "size 4097" + in_f,
                                                  "size 65537" + in_f, "size 1000003" + in_f});
  // Of an array, and of CUDA, as a check of the caller's cudaMalloc throws it.
  auto const large = verify(
      [](setup& make, std::size_t n) {
        if (n == 7) {
          throw std::runtime_error("x.cu:5: cudaErrorMemoryAllocation: out of memory");
        }
        auto const y = make.output<float>(n);
        make.expect(y, [](std::size_t) { return 3; });
        return [=] { std::fill_n(y.data(), n, 3.0F); };
      },
      {.only = {std::size_t{1} << 46U, 5, 7}});
  CHECK(large);
  REQUIRE(large.left_out.size() == 2);
  CHECK_THAT(large.left_out[0], contains("size 70368744177664: host memory: no room for "));
  CHECK(large.left_out[1] == "size 7: x.cu:5: cudaErrorMemoryAllocation: out of memory");
  CHECK_THAT(in_words(large), contains("right in 8 cases, ") && contains("; 2 left out\n"));
  // In any of the calls of one case.
  int in_all = 0;
  auto const counted = [&](int without) {
    in_all = 0;
    return verify([&, without](setup& make) {
      if (++in_all == without) { throw std::bad_alloc{}; }
      auto const y = make.output<int>(3);
      make.expect(y, [](std::size_t) { return 3; });
      return [=] { std::fill_n(y.data(), 3, 3); };
    });
  };
  CHECK(counted(0).left_out.empty());
  for (int each = 1, all = in_all; each <= all; ++each) {
    INFO(each << " of " << all);
    CHECK(!counted(each).left_out.empty());
  }
}

TEST_CASE("a function of all right values begins with zeros", "[verify]") {
  auto const seen = verify([](setup& make, std::size_t rows, std::size_t n) {
    auto const x = make.random<float>(rows * n);
    auto const y = make.output<float>(rows), z = make.output<float>(rows);
    make.expect(
        y,
        [=](std::span<double> sums) {
          for (std::size_t i = 0; i < rows * n; ++i) { sums[i / n] += x.seeded(i); }
        },
        sum_of(n));
    make.expect(
        std::tie(y, z),
        [=](std::span<double> one, std::span<double> two) {
          for (std::size_t i = 0; i < rows * n; ++i) {
            one[i / n] += x.seeded(i);
            two[i / n] -= x.seeded(i);
          }
        },
        sum_of(n));
    return [=] {
      for (std::size_t row = 0; row < rows; ++row) {
        y.data()[row] = std::accumulate(x.data() + row * n, x.data() + (row + 1) * n, 0.0F);
        z.data()[row] = -y.data()[row];
      }
    };
  });
  INFO(seen);
  CHECK(seen);
}

TEST_CASE("a factory that expects nothing at one size is refused with that size", "[verify]") {
  auto const empty_alone = [](setup& make, std::size_t n) {
    auto const y = make.output<int>(n);
    if (n > 0) {
      make.expect(y, [](std::size_t) { return 3; });
    }
    return [=] { std::fill_n(y.data(), n, 3); };
  };
  CHECK_THROWS_WITH(verify(empty_alone),
                    contains("verify: n = 0, zeros: the factory expects nothing"));
  CHECK(verify(empty_alone, {.only = sizes{}.at_least(1)}));
}
