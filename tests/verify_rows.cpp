// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
/// @file
/// `verify` over rows of an array: leading dimensions take turns, and padding is guarded.

#include "catch.hpp"

#include <assay/verify.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

using namespace assay;
using assay::test::contains;

namespace {

using floats = float const*;
using std::size_t;

/// y = 2 x, by `work(rows, columns, x, leading dimension of x, y, that of y)`.
template <class Work>
verification of_scale(Work work, verify_options const& chosen = {.only = sizes{}.at_least(1)}) {
  return verify(
      [work](setup& make, size_t rows, size_t columns) {
        auto const x = make.random<float>(matrix{rows, columns});
        auto const y = make.output<float>(matrix{rows, columns});
        make.expect(y, [x](size_t row, size_t column) { return 2.0 * x.seeded(row, column); });
        return [=] {
          work(rows, columns, x.data(), x.leading_dimension(), y.data(), y.leading_dimension());
        };
      },
      chosen);
}

void scale(size_t rows, size_t columns, floats x, size_t ldx, float* y, size_t ldy) {
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < columns; ++i) { y[row * ldy + i] = 2 * x[row * ldx + i]; }
  }
}

/// The least or the largest number of each row, of `read(columns, leading dimension)` elements.
template <class Read>
verification of_extreme(bool least, Read read) {
  return verify([=](setup& make, size_t rows, size_t columns) {
    make.finite();
    columns += 1;
    auto const x = make.random<float>(matrix{rows, columns});
    auto const y = make.output<float>(rows);
    auto const better = [least](float a, float b) { return least ? a < b : a > b; };
    make.expect(y, [=](size_t row) {
      auto found = x.seeded(row, 0);
      for (size_t i = 1; i < columns; ++i) {
        if (better(x.seeded(row, i), found)) { found = x.seeded(row, i); }
      }
      return found;
    });
    return [=] {
      for (size_t row = 0; row < rows; ++row) {
        auto const* const from = x.data() + row * x.leading_dimension();
        auto found = from[0];
        for (size_t i = 1; i < read(columns, x.leading_dimension()); ++i) {
          if (better(from[i], found)) { found = from[i]; }
        }
        y.data()[row] = found;
      }
    };
  });
}

}  // namespace

TEST_CASE("right work passes at all leading dimensions", "[verify]") {
  std::set<size_t> seen_x, seen_pairs;
  auto const seen = of_scale(
      [&](size_t rows, size_t columns, floats x, size_t ldx, float* y, size_t ldy) {
        if (columns == 33) {
          seen_x.insert(ldx);
          seen_pairs.insert(100 * ldx + ldy);
        }
        scale(rows, columns, x, ldx, y, ldy);
      },
      {});
  INFO(seen);
  CHECK(seen);
  CHECK(seen.left_out.empty());
  CHECK(seen_x == std::set<size_t>{33, 34, 48});
  CHECK(seen_pairs == std::set<size_t>{3333, 3448, 4833});
  // As many cases as without rows.
  CHECK(seen.cases == verify([](setup& make, size_t rows, size_t columns) {
                        auto const y = make.output<int>(rows * columns);
                        make.expect(y, [](size_t) { return 3; });
                        return [y] { std::fill_n(y.data(), y.size(), 3); };
                      }).cases);
}

TEST_CASE("work that takes the columns for the leading dimension is found", "[verify]") {
  auto const reads = of_scale([](size_t rows, size_t columns, floats x, size_t, float* y,
                                 size_t ldy) { scale(rows, columns, x, columns, y, ldy); });
  CHECK_THAT(reads.failure,
             contains("{2, 1}, ones, leading dimension of array 0 = 2, leading dimension of array "
                      "1 = 16: row 1, column 0 of array 1 (leading dimension 16) is nan, expected "
                      "2 (") &&
                 contains("repeat with assay::verify(..., {.seed = 1, .only = {{2, 1}}})"));
  auto const writes = of_scale([](size_t rows, size_t columns, floats x, size_t ldx, float* y,
                                  size_t) { scale(rows, columns, x, ldx, y, columns); });
  CHECK_THAT(writes.failure,
             contains("{2, 1}, ones, leading dimension of array 0 = 2, leading dimension of array "
                      "1 = 16: it wrote into the padding behind row 0 of array 1 (leading "
                      "dimension 16)"));
  auto const mixes = [](size_t rows, size_t columns, floats x, size_t ldx, float* y, size_t) {
    scale(rows, columns, x, ldx, y, ldx);
  };
  CHECK_FALSE(of_scale(mixes));
  CHECK(of_scale(mixes, {.only = {{1, 33}}}));
  auto const again = of_scale(mixes, {.only = {{2, 1}}});
  CHECK_THAT(again.failure, contains("{2, 1}, "));
}

TEST_CASE("a write into the padding is found and named", "[verify]") {
  auto const output =
      of_scale([](size_t rows, size_t columns, floats x, size_t ldx, float* y, size_t ldy) {
        scale(rows, columns, x, ldx, y, ldy);
        if (rows > 3 && ldy > columns) { y[3 * ldy + ldy - 1] = 0; }
      });
  CHECK_THAT(output.failure, contains("{4, 1}, ones, ") &&
                                 contains("it wrote into the padding behind row 3 of array 1"));
  auto const input =
      of_scale([](size_t rows, size_t columns, floats x, size_t ldx, float* y, size_t ldy) {
        scale(rows, columns, x, ldx, y, ldy);
        if (rows > 3 && ldx > columns) { const_cast<float*>(x)[3 * ldx + columns] = 0; }
      });
  CHECK_THAT(input.failure, contains("it wrote into the padding behind row 3 of array 0"));
  auto const element =
      of_scale([](size_t rows, size_t columns, floats x, size_t ldx, float* y, size_t ldy) {
        scale(rows, columns, x, ldx, y, ldy);
        if (rows > 3) { const_cast<float*>(x)[3 * ldx] += 1; }
      });
  CHECK_THAT(element.failure, contains("row 3, column 0 of array 0 (leading dimension 1), which "
                                       "calls only read"));
  auto const doubled = [](bool all) {
    return verify([all](setup& make, size_t rows, size_t columns) {
      auto const z = make.inout<int>(matrix{rows, columns}, {0, 9});
      make.expect(z, [z](size_t row, size_t column) { return 2 * z.seeded(row, column); });
      return [=] {
        for (size_t i = 0; i < z.size(); ++i) {
          if (all || i % z.leading_dimension() < columns) { z.data()[i] *= 2; }
        }
      };
    });
  };
  auto const right = doubled(false);
  INFO(right);
  CHECK(right);
  CHECK_THAT(doubled(true).failure, contains("{1, 1}, ones, leading dimension of array 0 = 2: it "
                                             "wrote into the padding behind row 0 of array 0"));
}

TEST_CASE("padding that work reads reaches its results, be they sums, minima or maxima",
          "[verify]") {
  auto const columns_alone = [](size_t columns, size_t) { return columns; };
  auto const whole_rows = [](size_t, size_t step) { return step; };
  CHECK(of_extreme(true, columns_alone));
  CHECK(of_extreme(false, columns_alone));
  for (bool const least : {true, false}) {
    auto const seen = of_extreme(least, whole_rows);
    CHECK_THAT(seen.failure,
               contains(least ? "; it was computed from the padding between rows;"
                              : " was computed from the padding between rows, expected"));
  }
  // A product with zero, as of a tile that is filled up: the padding may hold NaN.
  auto const masked = verify([](setup& make, size_t rows, size_t columns) {
    make.finite();
    auto const x = make.random<float>(matrix{rows, columns});
    auto const y = make.output<float>(rows);
    make.expect(
        y,
        [=](size_t row) {
          double sum = 0;
          for (size_t i = 0; i < columns; ++i) { sum += x.seeded(row, i); }
          return sum;
        },
        sum_of(columns));
    return [=] {
      for (size_t row = 0; row < rows; ++row) {
        float sum = 0;
        for (size_t i = 0; i < x.leading_dimension(); ++i) {
          sum += x.data()[row * x.leading_dimension() + i] * (i < columns ? 1.0F : 0.0F);
        }
        y.data()[row] = sum;
      }
    };
  });
  CHECK_THAT(masked.failure, contains("element 0 of array 1 is nan"));
}

TEST_CASE("the caller's elements come in rows, at all leading dimensions", "[verify]") {
  std::set<size_t> seen_steps;
  auto const of_data = [&](size_t elements, size_t given, bool written, bool reads_columns) {
    std::vector<float> data(elements);
    for (size_t i = 0; i < elements; ++i) { data[i] = static_cast<float>(i + 1); }
    return verify([&, data](setup& make) {
      matrix const rows{5, 7, given};
      auto const x = written ? make.inout(data, rows) : make.from(data, rows);
      seen_steps.insert(x.leading_dimension());
      auto const step = elements == 35 ? 7 : given;
      for (size_t row = 0; row < 5; ++row) {
        CHECK(x.seeded(row, 6) == static_cast<float>(row * step + 7));
      }
      auto const y = written ? x : make.output<float>(rows);
      make.expect(y, [x](size_t row, size_t column) { return 2 * x.seeded(row, column); });
      return [=] {
        auto const ldx = reads_columns ? 7 : x.leading_dimension();
        scale(5, 7, x.data(), ldx, y.data(), y.leading_dimension());
      };
    });
  };
  for (bool const written : {false, true}) {
    seen_steps.clear();
    auto const right = of_data(35, 0, written, false);
    INFO(right);
    CHECK(right);
    CHECK(seen_steps == std::set<size_t>{7, 8, 16});
    CHECK(of_data(35, 9, written, false));
    CHECK(of_data(45, 9, written, false));
    CHECK_FALSE(of_data(35, 0, written, true));
  }
  CHECK_THAT(of_data(36, 0, false, false).failure,
             contains("setup.from: 36 elements for 5 rows of 7: 35 are needed"));
  CHECK_THAT(of_data(36, 9, true, false).failure,
             contains("setup.inout: 36 elements for 5 rows of 7: 35 are needed, or 45 with a "
                      "leading dimension of 9"));
}

TEST_CASE("a reference in rows is checked by rows", "[verify]") {
  auto const by = [](float factor) {
    return verify(
        [factor](setup& make, size_t rows, size_t columns) {
          auto const x = make.random<float>(matrix{rows, columns});
          auto const y = make.output<float>(matrix{rows, columns});
          auto const write = [=](float* to, float times) {
            for (size_t row = 0; row < rows; ++row) {
              for (size_t i = 0; i < columns; ++i) {
                to[row * y.leading_dimension() + i] =
                    times * x.data()[row * x.leading_dimension() + i];
              }
            }
          };
          make.expect_from(
              y, [=](float* out) { write(out, factor); },
              [x](size_t row, size_t i) { return 3.0 * x.seeded(row, i); });
          return [=] { write(y.data(), 3); };
        },
        {.only = {{3, 5}, {33, 17}}});
  };
  auto const right = by(3);
  INFO(right);
  CHECK(right);
  CHECK_THAT(by(2).failure, contains("the reference itself is wrong: row 0, column 0 of array 1"));
}

TEST_CASE("a leading dimension of the caller stays, and aligned rows may be asked for",
          "[verify]") {
  std::set<size_t> seen_steps;
  auto const filled = [&](size_t more, size_t alignment) {
    seen_steps.clear();
    return verify(
        [&seen_steps, more, alignment](setup& make, size_t rows, size_t columns) {
          make.align(alignment);
          auto const y = make.output<float>(matrix{rows, columns, more == 0 ? 0 : columns + more});
          seen_steps.insert(y.leading_dimension());
          make.expect(y, [](size_t, size_t) { return 3; });
          return [=] {
            for (size_t row = 0; row < rows; ++row) {
              std::fill_n(y.data() + row * y.leading_dimension(), columns, 3.0F);
            }
          };
        },
        {.only = {{4, 33}}});
  };
  CHECK(filled(2, 1));
  CHECK(seen_steps == std::set<size_t>{35});
  CHECK(filled(0, 16));
  CHECK(seen_steps == std::set<size_t>{36, 40, 48});
}
