// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

using namespace assay::trace;
using assay::test::contains;
using assay::test::message_of;

namespace {
table sample() {
  using enum cell_format;
  return {"sample", "A Sample", {{"Name", text}, {"Count"}, {"Share", one_decimal}}};
}
}  // namespace

TEST_CASE("a table keeps what it was given, and knows what is missing") {
  auto rows = sample();
  CHECK(rows.rows() == 0);
  auto const kept = rows.keep("kept");
  rows.add("first", 7, 1.25);
  rows.add(kept, std::nullopt, std::optional<double>{});
  rows.add(std::nullopt, std::int64_t{-1}, 3);
  REQUIRE(rows.rows() == 3);
  CHECK(rows.text(0, 0) == "first");
  CHECK(rows.integer(0, 1) == 7);
  CHECK(rows.number(0, 2) == 1.25);
  CHECK(rows.text(1, 0) == "kept");
  CHECK((rows.missing(1, 1) && rows.missing(1, 2) && rows.missing(2, 0)));
  CHECK(!rows.missing(0, 0));
  CHECK(std::isnan(rows.number(1, 1)));
  CHECK(rows.number(2, 1) == -1);
  CHECK(rows.number(2, 2) == 3);
  CHECK(rows.column_of("Share") == 2);
}

TEST_CASE("columns are named in a text, with their formats") {
  using enum cell_format;
  CHECK(parse_columns("").empty());
  CHECK(parse_columns("Avg (ns):1, MB:3, A:2, Count, Name:t") ==
        std::vector<column>{
            {"Avg (ns)", one_decimal}, {"MB", three_decimals}, {"A:2"}, {"Count"}, {"Name", text}});
}

TEST_CASE("a table refuses cells that its columns cannot hold") {
  auto rows = sample();
  CHECK_THAT(message_of([&] { rows.add("a", 1); }), contains("has 3 cells, not 2"));
  CHECK_THAT(message_of([&] { rows.add(1, 1, 1.0); }), contains("'Name' of sample"));
  CHECK_THAT(message_of([&] { rows.add("a", 1.5, 1.0); }), contains("'Count' of sample"));
  CHECK_THAT(message_of([&] { rows.add("a", "b", 1.0); }), contains("does not hold text"));
  CHECK(rows.rows() == 0);
  rows.add("a", 1, 1.0);
  CHECK_THAT(message_of([&] { (void)rows.number(0, 0); }), contains("does not hold a number"));
  CHECK_THAT(message_of([&] { (void)rows.text(0, 1); }), contains("does not hold text"));
  CHECK_THAT(message_of([&] { (void)rows.column_of("Total"); }), contains("no column 'Total'"));
  CHECK_THROWS_AS(rows.integer(1, 1), std::out_of_range);
}

TEST_CASE("summary statistics have the median of the middle two and the deviation of a sample") {
  auto const four = summarize({4, 1, 3, 2});
  CHECK(four == summary_statistics{4, 10, 2.5, 2.5, 1, 4, std::sqrt(5.0 / 3.0)});
  CHECK(summarize({3, 1, 2}) == summary_statistics{3, 6, 2, 2, 1, 3, 1});
  CHECK(summarize({5}) == summary_statistics{1, 5, 5, 5, 5, 5, 0});
  CHECK(summarize(std::vector<std::int64_t>{}) == summary_statistics{});
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(summarize({most, most - 1, 1}).total == most);
  CHECK(summarize({-most, -most, 5}).total == -most + 4);
  // Sums of squares of such values would cancel to nothing or to NaN.
  CHECK(summarize({1'000'000'000'000, 1'000'000'000'001}).deviation == Approx(std::sqrt(0.5)));
}

TEST_CASE("groups are summarised apart, in any order of the values, by falling total") {
  grouping<std::string> groups;
  for (auto const& [name, value] : {std::pair{"b", 10}, {"a", 1}, {"b", 20}, {"a", 3}, {"c", 4}}) {
    groups.add(name, value);
  }
  auto const all = groups.by_total();
  REQUIRE(all.size() == 3);
  CHECK(all[0] == std::pair{std::string{"b"}, summarize({10, 20})});
  CHECK(all[1] == std::pair{std::string{"a"}, summarize({1, 3})});
  CHECK(all[2] == std::pair{std::string{"c"}, summarize({4})});
}
