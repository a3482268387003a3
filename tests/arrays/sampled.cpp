// SPDX-License-Identifier: Apache-2.0
/// @file
/// Samples of arrays whose right values take long to compute.
#include "arrays/on_host.hpp"
#include "catch.hpp"

#include <assay/arrays/sampled.hpp>
#include <assay/arrays/setup.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;
using test::on_host;

namespace {

constexpr std::size_t side = 512, tile = 32;

double product(std::size_t row, std::size_t column) {
  return static_cast<double>(row * 7 + column * 3 + 1);
}
void write_product(matrix_view<float> to) {
  for (std::size_t row = 0; row < to.rows(); ++row) {
    for (std::size_t column = 0; column < to.columns(); ++column) {
      to.data()[row * to.leading_dimension() + column] = static_cast<float>(product(row, column));
    }
  }
}

}  // namespace

TEST_CASE("a sample has the first and the last element, and one of each part", "[arrays]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  matrix const rows{1000, 100, 104};
  auto const all = arrays::detail::draw_sample(rows.size(), rows, 4096, seed);
  CHECK(all.size() <= 4096);
  CHECK(all.front() == 0);
  CHECK(all.back() == 999 * 104 + 99);
  std::set<std::size_t> const drawn(all.begin(), all.end());
  CHECK(drawn.size() == all.size());
  for (auto const each : all) { REQUIRE(each % 104 < 100); }
  for (std::size_t row = 0; row < 1000; ++row) {  // 2000 ends fit into half of the sample
    REQUIRE(drawn.contains(row * 104));
    REQUIRE(drawn.contains(row * 104 + 99));
  }
  auto const line = arrays::detail::draw_sample(1'000'000, {}, 1002, seed);
  for (std::size_t part = 0; part < 1000; ++part) {
    auto const at = std::lower_bound(line.begin(), line.end(), part * 1000);
    REQUIRE(*at < (part + 1) * 1000);
  }
  CHECK(arrays::detail::draw_sample(1'000'000, {}, 1002, seed + 1) != line);
  CHECK(arrays::detail::draw_sample(1'000'000, {}, 1002, seed) == line);
}

TEST_CASE("a sample finds a wrong tile of a product, and asks for no more elements", "[arrays]") {
  // Ends of rows take half of the sample. The others are drawn from 1022 parts of at most 257
  // elements, half a row. A part has 32 elements of a row of the tile, so a check misses the tile
  // with a chance of (1 - 32/257)^32 = 0.014. The seeds are fixed for that reason.
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    auto make = on_host(seed);
    auto const c = make.output<float>(matrix{side, side});
    auto const calls = std::make_shared<std::atomic<int>>(0);
    make.expect(
        c,
        [calls](std::size_t row, std::size_t column) {
          ++*calls;
          return product(row, column);
        },
        default_tolerance<float>, sampled{2048});
    write_product(c);
    CHECK(make.verify().value_or("right") == "right");
    CHECK(*calls > 1900);
    CHECK(*calls <= 2048 + 1);  // one more for the worst error
    for (std::size_t row = 64; row < 64 + tile; ++row) {
      for (std::size_t column = 96; column < 96 + tile; ++column) {
        c.data()[row * side + column] += 1;
      }
    }
    CHECK_THAT(make.verify().value_or("right"), contains("of a sample of "));
    CHECK_THAT(make.verify().value_or("right"), contains(" of 262144 elements "));
  }
}

TEST_CASE("an element outside the sample must be written", "[arrays]") {
  auto make = on_host(1);
  auto const c = make.output<float>(matrix{side, side});
  make.expect(c, product, default_tolerance<float>, sampled{100});
  write_product(c);
  std::memset(c.data() + 777, 0xFF, sizeof(float));
  CHECK_THAT(make.verify().value_or("right"), contains("row 1, column 265 of array 0"));
  CHECK_THAT(make.verify().value_or("right"), contains("was never written"));
}

TEST_CASE("a check after one that passed draws another sample, and a failure is found again",
          "[arrays]") {
  auto make = on_host(1);
  auto const y = make.output<int>(10'000);
  make.expect(y, [](std::size_t) { return 5; }, tolerance{}, sampled{100});
  std::fill_n(y.data(), 10'000, 5);
  y.data()[4321] = 4;
  int passed = 0;
  while (passed < 2000 && !make.verify()) { ++passed; }
  CHECK(passed > 0);  // 99 on average; the seed is fixed
  CHECK(passed < 2000);
  for (int i = 0; i < 10; ++i) { CHECK_THAT(make.verify().value_or("right"), contains("4321")); }
  y.data()[4321] = 5;
  CHECK(!make.verify());
}

TEST_CASE("runs of a large array are drawn from all its parts, and a small one is whole",
          "[arrays]") {
  using arrays::detail::pieces;
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::size_t const size : {(1 << 18) + 1, 1'000'003, 1 << 24}) {
    auto const made = pieces(size, 4 << 20, seed);
    REQUIRE(made.begins.size() == 64);
    CHECK(made.length == 1024);
    CHECK(made.begins.front() == 0);
    CHECK(made.begins.back() == size - 1024);
    for (std::size_t i = 0; i < 64; ++i) {
      CHECK(made.begins[i] >= size / 64 * i);
      CHECK(made.begins[i] + 1024 <= (i < 63 ? size / 64 * (i + 1) : size));
    }
  }
  CHECK(pieces(1 << 24, 4 << 20, seed).begins != pieces(1 << 24, 4 << 20, seed + 1).begins);
  CHECK(pieces(1 << 18, 4 << 20, seed).begins == std::vector<std::size_t>{0});
  CHECK(pieces(10, 4).begins == std::vector<std::size_t>{0, 4, 8});
  CHECK(pieces(0, 4).begins.empty());
}

TEST_CASE("a look at drawn parts finds a wrong 32nd of an array wherever it is", "[arrays]") {
  constexpr std::size_t n = std::size_t{1} << 19U, part = n / 32;
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto make = on_host(1);
  auto const y = make.output<float>(n);
  make.expect(y, [](std::size_t) { return 5; });
  std::fill_n(y.data(), n, 5.0f);
  CHECK(!make.verify(1, seed));
  std::fill_n(y.data() + seed % (n - part), part, 4.0f);
  CHECK_THAT(make.verify(1, seed + 1).value_or("right"), contains("of 65536 drawn ones of 524288"));
  CHECK_THAT(make.verify().value_or("right"), contains("16384 of 524288 elements are wrong"));
}

TEST_CASE("small arrays are checked whole, and a sample of none is refused", "[arrays]") {
  auto make = on_host(1);
  auto const y = make.output<float>(100);
  make.expect(y, [](std::size_t) { return 5; }, tolerance{}, sampled{100});
  std::fill_n(y.data(), 100, 5.0f);
  y.data()[50] = 4;
  CHECK_THAT(make.verify().value_or("right"), contains("1 of 100 elements is wrong"));
  CHECK_THAT(
      message_of([&] { make.expect(y, [](std::size_t) { return 5; }, tolerance{}, sampled{0}); }),
      contains("a sample of 0 elements checks nothing"));
}

TEST_CASE("a sample needs no tolerance, and several arrays are sampled by tuples", "[arrays]") {
  constexpr std::size_t n = 10'000;
  for (bool const rows : {false, true}) {
    auto make = on_host(1);
    matrix const shape{100, 100};
    auto const z = make.output<int>(n);
    make.expect(z, [](std::size_t i) { return static_cast<int>(i); }, sampled{64});
    auto const x = make.output<float>(shape);
    auto const y = make.output<int>(shape);
    auto const calls = std::make_shared<std::atomic<int>>(0);
    auto const both = [calls](std::size_t i) {
      ++*calls;
      return std::pair{0.5 * static_cast<double>(i), static_cast<int>(i)};
    };
    if (rows) {
      make.expect(
          std::tie(x, y), [both](std::size_t row, std::size_t i) { return both(100 * row + i); },
          sampled{64});
    } else {
      make.expect(std::tie(x, y), both, sum_of(1), tolerance{}, sampled{64});
    }
    for (std::size_t i = 0; i < n; ++i) {
      z.data()[i] = y.data()[i] = static_cast<int>(i);
      x.data()[i] = 0.5F * static_cast<float>(i);
    }
    CHECK(make.verify().value_or("right") == "right");
    CHECK(*calls <= 2 * 64 + 2);
    for (auto const& each : make.declared()) { CHECK(each.sample == 64); }
    y.data()[n - 1] += 1;
    CHECK_THAT(make.verify().value_or("right"),
               contains("row 99, column 99 of array 2 (leading dimension 100) is 10000"));
  }
}

TEST_CASE("several arrays have one function of an element without a sample too", "[arrays]") {
  auto make = on_host(1);
  auto const x = make.output<double>(3000);
  auto const y = make.output<int>(2000);
  make.expect(std::tie(x, y), [](std::size_t i) {
    return std::tuple{static_cast<double>(i), static_cast<int>(i % 7)};
  });
  for (std::size_t i = 0; i < 3000; ++i) { x.data()[i] = static_cast<double>(i); }
  for (std::size_t i = 0; i < 2000; ++i) { y.data()[i] = static_cast<int>(i % 7); }
  CHECK(make.verify().value_or("right") == "right");
  y.data()[1234] = 7;
  CHECK_THAT(make.verify().value_or("right"), contains("element 1234 of array 1 is 7, expected 2"));
}

TEST_CASE("low precision in a sample is told from a wrong answer", "[arrays]") {
  // Right values near zero beside others of magnitude 1, as a difference of rounded numbers has.
  constexpr std::size_t n = 100'000;
  auto const right = [](std::size_t i) {
    return i % 10 == 0 ? 1e-9 : 1 + static_cast<double>(i) / n;
  };
  for (auto const elements : {std::size_t{512}, n}) {
    auto make = on_host(1);
    auto const y = make.output<float>(n);
    make.expect(y, right, tolerance{1e-6}, sampled{elements});
    auto const write = [&](double error) {
      for (std::size_t i = 0; i < n; ++i) {
        y.data()[i] = static_cast<float>(right(i) + (i % 2 == 0 ? error : -error));
      }
    };
    write(0x1p-9);  // as half a unit in the last place of bfloat16
    CHECK_THAT(make.verify().value_or("right"), contains("expected"));
    CHECK(make.verify(16384).value_or("right") == "right");
    write(0.5);
    CHECK_THAT(make.verify(16384).value_or("right"), contains("expected"));
  }
}

TEST_CASE("scratch memory and zeros have rows", "[arrays]") {
  auto make = on_host(1);
  make.choose_rows(1);
  auto const a = make.scratch<float>(matrix{3, 5});
  auto const b = make.zeros<float>(matrix{3, 5, 9});
  CHECK(a.rows() == 3);
  CHECK(a.leading_dimension() >= 5);
  CHECK(b.leading_dimension() == 9);
  CHECK(make.declared().at(1).rows.columns == 5);
}
