// SPDX-License-Identifier: Apache-2.0
/// @file
/// What more calls tell `verify` of a wrong element: it was never written, it was computed from
/// what an array held before the call, or calls keep state.

#include "catch.hpp"
#include "verify_scale.hpp"

#include <assay/core/bfloat16.hpp>
#include <assay/verify.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>

using namespace assay;
using assay::test::contains;

namespace {

using floats = float const*;

/// Verifies `work(n, x, y)`, which is right if y = 2 x, and finds it wrong.
template <class Work>
std::string failure_of(Work work) {
  return test::of_scale(work, {}, true).failure;
}

/// Counts with an output that calls only add to.
template <class T>
std::string failure_of_sum(bool unordered, sizes const& only = sizes{}.at_least(1)) {
  return verify(
             [unordered](setup& make, std::size_t n) {
               if (unordered) { make.unordered(); }
               auto const x = make.random<T>(n, {-8, 8});
               auto const sum = make.named("sum").output<T>(1);
               make.expect(
                   sum,
                   [=](std::span<std::conditional_t<std::is_integral_v<T>, T, double>> all) {
                     for (std::size_t i = 0; i < n; ++i) { all[0] += x.seeded(i); }
                   },
                   sum_of(n, 8));
               return [=] { *sum.data() = std::accumulate(x.data(), x.data() + n, *sum.data()); };
             },
             {.only = only})
      .failure;
}

constexpr auto to_inout = "; where calls read y, declare it by make.inout; repeat with";

}  // namespace

TEST_CASE("an element that was never written is told from one that was computed from poison",
          "[verify]") {
  CHECK_THAT(failure_of([](std::size_t n, floats x, float* y) { test::scale(n - n / 9, x, y); }),
             contains("n = 9, zeros: element 8 of y was never written, expected 0 (tolerance "
                      "1.18e-38; 1 of 9 elements is wrong); worst error: no number, at element 8 "
                      "of y; repeat with"));
  // A BLAS beta of 0: NaN times 0 is NaN, with the bits that it had.
  auto const beta = [](std::size_t n, floats x, float* y) {
    float volatile zero = 0;
    for (std::size_t i = 0; i < n; ++i) { y[i] = 2 * x[i] + zero * y[i]; }
  };
  CHECK_THAT(failure_of(beta),
             contains("n = 1, zeros: element 0 of y was computed from what y held "
                      "before the call, expected 0 (") &&
                 contains(to_inout) && !contains("never written"));
  // A condition that NaN does not meet, and 1.5e16 does.
  CHECK_THAT(failure_of([](std::size_t n, floats x, float* y) {
               for (std::size_t i = 0; i < n; ++i) { y[i] = y[i] > 2 * x[i] ? y[i] : 2 * x[i]; }
             }),
             contains("n = 1, ones: element 0 of y was computed from what y held before the call, "
                      "expected 2 (") &&
                 contains(to_inout));
  for (bool const unordered : {false, true}) {
    CHECK_THAT(failure_of_sum<float>(unordered),
               contains("n = 1, ones: element 0 of sum was computed from what sum held"));
  }
  CHECK_THAT(failure_of_sum<int>(false),
             contains("n = 1, ones: element 0 of sum is 0, expected 1 (tolerance 0; 1 of 1 "
                      "elements is wrong, by 1); ") &&
                 contains("; it was computed from what sum held before the call; where calls"));
  // A sum of nothing.
  CHECK_THAT(failure_of_sum<float>(false, {}),
             contains("n = 0, zeros: element 0 of sum was left as it was, expected 0 ("));
}

TEST_CASE("integers that look like poison are told alike", "[verify]") {
  auto const with = [](auto work) {
    return verify([work](setup& make, std::size_t n) {
             auto const y = make.named("y").output<int>(n);
             make.expect(y, [](std::size_t i) { return static_cast<int>(i) - 1; });
             return [=] { work(n, y.data()); };
           })
        .failure;
  };
  auto const told = with([](std::size_t n, int* y) {
    if (n != 2) { std::iota(y, y + n, -1); }
  });
  // Element 0 is -1 as it should be: the first call alone does not show it.
  CHECK_THAT(told, contains("n = 2, zeros: element 1 of y is -1, expected 0 (tolerance 0; 1 of 2 "
                            "elements is wrong, by 1); worst error: 1, where no error is "
                            "permitted, at element 1 of y; it was never written; repeat with"));
  CHECK_THAT(with([](std::size_t n, int* y) {
               for (std::size_t i = 0; i < n; ++i) { y[i] += static_cast<int>(i) + 1; }
             }),
             contains("n = 1, zeros: element 0 of y is 0, expected -1 (") &&
                 contains("; it was computed from what y held before the call; where calls"));
}

TEST_CASE("what scratch memory, other outputs and padding held is named", "[verify]") {
  auto const with_scratch = verify([](setup& make, std::size_t n) {
    auto const x = make.random<float>(n);
    auto const sums = make.named("sums").scratch<float>(1);
    auto const y = make.output<float>(1);
    make.expect(
        y,
        [=](std::span<double> wanted) {
          for (std::size_t i = 0; i < n; ++i) { wanted[0] += x.seeded(i); }
        },
        sum_of(n));
    return [=] {
      for (std::size_t i = 0; i < n; ++i) { *sums.data() += x.data()[i]; }
      *y.data() = *sums.data();
    };
  });
  CHECK_THAT(with_scratch.failure,
             contains("; it was computed from what sums, scratch memory, held before the call; "
                      "where it must begin with zeros, declare it by make.zeros; repeat with"));

  auto const of_other = verify([](setup& make, std::size_t n) {
    auto const x = make.random<float>(n);
    auto const mean = make.named("mean").output<float>(1);
    auto const y = make.named("y").output<float>(n);
    make.expect(y, [x](std::size_t i) { return x.seeded(i) - 1; });
    return [=] {  // the mean is written too late
      for (std::size_t i = 0; i < n; ++i) { y.data()[i] = x.data()[i] - *mean.data(); }
      *mean.data() = 1;
    };
  });
  CHECK_THAT(
      of_other.failure,
      contains("element 0 of y was computed from what mean held before the call, expected") &&
          contains("; where calls read mean, declare it by make.inout"));

  auto const of_padding = verify(
      [](setup& make, std::size_t rows, std::size_t columns) {
        auto const x = make.random<float>(matrix{rows, columns});
        auto const y = make.named("y").output<float>(rows);
        make.expect(y, [=](std::size_t row) {
          double most = -1;
          for (std::size_t i = 0; i < columns; ++i) {
            most = std::max<double>(most, x.seeded(row, i));
          }
          return most;
        });
        return [=] {
          for (std::size_t row = 0; row < rows; ++row) {
            auto const* const begin = x.data() + row * x.leading_dimension();
            y.data()[row] = -1;
            for (std::size_t i = 0; i < x.leading_dimension(); ++i) {
              if (begin[i] > y.data()[row]) { y.data()[row] = begin[i]; }
            }
          }
        };
      },
      {.only = sizes{}.at_least(1)});
  CHECK_THAT(of_padding.failure,
             contains(" element 0 of y was computed from the padding between rows, expected "));
}

TEST_CASE("a read of what lies before or behind an array is named", "[verify]") {
  CHECK_THAT(failure_of([](std::size_t n, floats x, float* y) {
               test::scale(n, x, y);
               if (n > 4) { y[n - 1] += x[n]; }
             }),
             contains("n = 5, zeros: element 4 of y is ") &&
                 contains("; it was computed from memory before or behind x; repeat with"));
}

/// Takes one element more than it should, and is told so.
template <class T>
void check_one_too_many(auto combine) {
  auto const seen = verify(
      [combine](setup& make, std::size_t n) {
        auto const x = make.named("x").random<T>(n, {-1, 1});
        auto const y = make.named("y").output<T>(1);
        auto const right = [=](std::span<double> one) {
          one[0] = x.seeded(0);
          for (std::size_t i = 1; i < n; ++i) { one[0] = combine(one[0], double(x.seeded(i))); }
        };
        make.expect(y, right, sum_of(n));
        return [=] {
          double all = double(x.data()[0]);
          for (std::size_t i = 1; i <= n; ++i) { all = combine(all, double(x.data()[i])); }
          y.data()[0] = T(static_cast<float>(all));
        };
      },
      {.only = sizes{}.at_least(1).at_most(65)});
  CHECK_THAT(seen.failure, contains("was computed from memory before or behind x"));
}

TEST_CASE("one element too many is seen by a sum, a greatest and a least element of any type",
          "[verify]") {
  auto const sum = [](double a, double b) { return a + b; };
  auto const greatest = [](double a, double b) { return std::max(a, b); };
  auto const least = [](double a, double b) { return std::min(a, b); };
  check_one_too_many<float>(sum);
  check_one_too_many<float>(greatest);
  check_one_too_many<float>(least);
  check_one_too_many<bfloat16>(sum);
  check_one_too_many<bfloat16>(greatest);
  check_one_too_many<bfloat16>(least);
}

TEST_CASE("state between calls is not told as a read of an output", "[verify]") {
  int calls = 0;
  CHECK_THAT(failure_of([&calls](std::size_t n, floats x, float* y) {
               test::scale(n, x, y);
               if (n > 9 && ++calls % 2 == 0) { y[9] = 3; }
             }),
             contains("n = 10, zeros: the same call once more: element 9 of y is 3, ") &&
                 !contains("computed"));
  // Every other call does nothing.
  int late = 0;
  CHECK_THAT(failure_of([&late](std::size_t n, floats x, float* y) {
               if (++late % 2 == 0) { test::scale(n, x, y); }
             }),
             contains("n = 1, zeros: the same call once more: element 0 of y is 1.53652219e+16, "));
  // What a call leaves behind makes all later ones wrong, simpler values too.
  float carried = 0;
  CHECK_THAT(
      failure_of([&carried](std::size_t n, floats x, float* y) {
        test::scale(n, x, y);
        if (n == 0) { return; }
        y[0] += carried;
        carried = std::isfinite(x[0]) ? x[0] : 0;
      }),
      contains("n = 1, ones: the same call once more: element 0 of y is 3, expected 2 (") &&
          contains("; calls keep state or race: with zeros they were right before this one and are "
                   "wrong after it; repeat with assay::verify(..., {.seed = 1})"));
  // Three right calls, and one that is wrong: what is right again is no matter of contents.
  int all = 0;
  CHECK_THAT(failure_of([&all](std::size_t n, floats x, float* y) {
               test::scale(n, x, y);
               if (n > 0 && ++all % 6 > 3) { y[0] = 3; }
             }),
             contains("element 0 of y is 3, ") && !contains("computed"));
}

TEST_CASE("an element that nothing judges, and that differs between calls, has its cause",
          "[verify]") {
  auto const judged = [](auto work) {
    return verify([work](setup& make, std::size_t n) {
             auto const y = make.named("y").output<float>(n);
             make.expect_that(y,
                              [](std::span<float const>) { return std::optional<std::string>{}; });
             return [=] { work(n, y.data()); };
           })
        .failure;
  };
  CHECK_THAT(judged([](std::size_t n, float* y) { std::fill_n(y, n - n / 3, 1.0F); }),
             contains("n = 3, zeros: element 2 of y was never written; repeat with"));
  CHECK_THAT(judged([](std::size_t n, float* y) {
               for (std::size_t i = 0; i < n; ++i) { y[i] += 1; }
             }),
             contains("n = 1, zeros: element 0 of y was computed from what y held before the call; "
                      "where calls read y"));
}
