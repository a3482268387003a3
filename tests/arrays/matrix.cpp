// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arrays in rows: their places, first values and checks; arrays as spans.
#include "arrays/on_host.hpp"
#include "catch.hpp"

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>
#include <assay/core/bfloat16.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;
using test::on_host;

namespace {

std::size_t count(std::span<float const> all) { return all.size(); }
float& first(std::span<float> all) { return all.front(); }

/// Writes `by(row, column)` to all elements of rows, and nothing to their padding.
template <class T, class By>
void write(matrix_view<T> to, By by) {
  for (std::size_t row = 0; row < to.rows(); ++row) {
    for (std::size_t column = 0; column < to.columns(); ++column) {
      to.data()[row * to.leading_dimension() + column] = static_cast<T>(by(row, column));
    }
  }
}

}  // namespace

static_assert(std::is_trivially_copyable_v<matrix_view<float>>);
static_assert(!std::is_convertible_v<array_view<float>, std::span<double>>);
static_assert(!std::is_convertible_v<array_view<float>, std::span<float, 3>>);
static_assert(!std::is_convertible_v<array_view<float>, std::string>);
static_assert(!detail::kept_range<array_view<float>&>);  // `from` would read memory of a device

TEST_CASE("an array is a span where a function takes one", "[arrays]") {
  auto make = on_host(1);
  auto const x = make.random<float>(5);
  CHECK(count(x) == 5);
  CHECK(&first(x) == x.data());
  std::span<float const> const all = x;
  CHECK(all.data() == x.data());
  CHECK(count(make.output<float>(matrix{3, 5, 8})) == 24);
}

TEST_CASE("rows begin where their leading dimension says", "[arrays]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto make = on_host(seed);
  auto const x = make.random<float>(matrix{3, 5, 8}, {2, 3});
  CHECK(x.rows() == 3);
  CHECK(x.columns() == 5);
  CHECK(x.leading_dimension() == 8);
  CHECK(x.size() == 24);
  auto const z = make.inout<assay::bfloat16>(matrix{3, 5});
  CHECK(z.leading_dimension() == 5);  // as comparisons have it
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 5; ++column) {
      CHECK(x.data()[row * 8 + column] == x.seeded(row, column));
      CHECK(static_cast<float>(z.data()[row * 5 + column]) == z.seeded(row, column));
    }
  }
  CHECK(x.seeded(2, 4) >= 2);
  CHECK(message_of([&] { (void)x.seeded(2, 5); }) ==
        "seeded(2, 5): the array has 3 rows of 5 elements");
  CHECK_THROWS_AS(x.seeded(3, 0), std::out_of_range);
  auto const all = make.declared();
  CHECK(all[0].elements == 24);
  CHECK(all[0].rows.leading_dimension == 8);
  CHECK(make.scalars().empty());

  CHECK(message_of([&] { (void)make.output<float>(matrix{3, 5, 4}); }) ==
        "matrix: a leading dimension of 4 for 5 columns; at least 5 is needed");
  auto const most = std::numeric_limits<std::size_t>::max();
  CHECK_THAT(message_of([&] { (void)make.output<float>(matrix{most / 4 + 3, 2, 4}); }),
             contains("1 to 2305843009213693951 are allowed"));
  make.allow_empty();
  CHECK(make.output<float>(matrix{0, 5}).size() == 0);
  CHECK(make.random<float>(matrix{5, 0}).size() == 0);
  CHECK(make.random<float>(7).size() == 7);
  CHECK(make.declared().back().rows.leading_dimension == 0);  // of no earlier matrix
}

TEST_CASE("a setup chooses leading dimensions", "[arrays]") {
  auto const chosen = [](std::size_t layout, std::size_t columns, std::size_t alignment = 1) {
    auto make = on_host(1);
    make.choose_rows(layout).align(alignment);
    std::vector<std::size_t> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(make.output<float>(matrix{2, columns}).leading_dimension());
    }
    return std::pair{all, make.scalars()};
  };
  using sizes = std::vector<std::size_t>;
  CHECK(chosen(0, 5) == std::pair{sizes{5, 5, 5}, std::string{}});
  CHECK(chosen(1, 5) == std::pair{sizes{6, 16, 5},
                                  std::string{"leading dimension of array 0 = 6, leading dimension "
                                              "of array 1 = 16"}});
  CHECK(chosen(2, 32).first == sizes{48, 32, 33});
  CHECK(chosen(1, 5, 16).first == sizes{12, 16, 8});
  CHECK(chosen(1, 5, 256).first == sizes{128, 128, 64});
  auto make = on_host(1);
  (void)make.choose_rows(1).output<float>(matrix{2, 5, 7});
  CHECK(make.output<float>(matrix{2, 5}).leading_dimension() == 6);  // the first that is chosen
}

TEST_CASE("padding is neither right nor wrong, and errors name row and column", "[arrays]") {
  auto make = on_host(1);
  auto const y = make.output<float>(matrix{3, 5, 8});
  auto const z = make.output<int>(matrix{2, 2});
  auto const value = [](std::size_t row, std::size_t column) {
    if (column >= 5) { throw std::out_of_range("a column of padding"); }
    return static_cast<double>(10 * row + column);
  };
  make.expect(y, value);
  make.expect(z, [](std::size_t row, std::size_t) { return row; });
  CHECK_THAT(make.verify().value_or(""),
             contains("row 0, column 0 of array 0 (leading dimension 8) was never written, "
                      "or computed from what it held, expected 0 (tolerance 1.18e-38; 15 of 15 "
                      "elements are wrong"));
  write(y, value);
  write(z, [](std::size_t row, std::size_t) { return row; });
  CHECK(make.verify() == std::nullopt);
  y.data()[8 + 5] = 7;
  CHECK(make.verify() == std::nullopt);
  y.data()[2 * 8 + 4] = 7;
  CHECK_THAT(make.verify().value_or(""),
             contains("row 2, column 4 of array 0 (leading dimension 8) is 7, expected 24"));
  make.expect(y, value, {0, 17.5});
  CHECK(make.verify() == std::nullopt);
  y.data()[0] = 1e-6F;
  make.expect(y, value, sum_of(100, 100));
  CHECK_THAT(make.verify().value_or(""), contains("1 of 15 elements is wrong, by 17"));
  make.expect(y, [](std::size_t row, std::size_t) { return row == 1 ? std::nan("") : 0; });
  CHECK_THAT(
      message_of([&] { (void)make.verify(); }),
      contains("the right value of row 1, column 0 of array 0 (leading dimension 8) is NaN"));
}

TEST_CASE("other ways to say what is right see the padding too, and do not check it", "[arrays]") {
  auto make = on_host(1);
  auto const y = make.output<float>(matrix{3, 5, 8});
  write(y, [](std::size_t row, std::size_t) { return row; });
  auto const reference = [](float* out) {
    std::fill_n(out, 24, 1e30F);
    out[5] = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < 24; ++i) {
      if (i % 8 < 5) { out[i] = static_cast<float>(i / 8); }
    }
  };
  make.expect_from(y, reference);
  CHECK(make.verify() == std::nullopt);
  CHECK(make.verify(2) == std::nullopt);
  y.data()[8] = 1.01F;
  make.expect_from(y, reference, tolerance{1e-3});
  CHECK_THAT(make.verify(2).value_or(""), contains("row 1, column 0 of array 0"));
  y.data()[8] = 1;
  make.expect(y, [](std::span<double> wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) { wanted[i] = static_cast<double>(i / 8); }
  });
  CHECK(make.verify() == std::nullopt);
  std::size_t seen = 0;
  make.expect_that(y, [&](std::span<float const> got) {
    seen = got.size();
    return std::optional<std::string>{};
  });
  CHECK(make.verify() == std::nullopt);
  CHECK(seen == 24);
}

TEST_CASE("one element of rows at least is special, and not one of padding", "[arrays]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto make = on_host(seed);
    make.with(special_values::nan);
    auto const x = make.random<float>(matrix{2, 1, 16});
    CHECK((std::isnan(x.seeded(0, 0)) || std::isnan(x.seeded(1, 0))));
    CHECK(std::isnan(x.data()[0]) == std::isnan(x.seeded(0, 0)));
  }
}
