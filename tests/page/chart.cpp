// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "page/count_of.hpp"

#include <assay/page/chart.hpp>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

using namespace assay::report;
using assay::test::contains;
using assay::test::count_of;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

axis over(double low, double high, bool logarithmic = false) {
  axis made;
  made.low = low;
  made.high = high;
  made.logarithmic = logarithmic;
  return made;
}

void check_ticks(axis const& of, std::size_t most, std::vector<double> const& wanted) {
  auto const found = of.ticks(most);
  INFO("from " << of.low << " to " << of.high);
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == Approx(wanted[i]).margin(1e-12));
  }
}

}  // namespace

TEST_CASE("an axis places values by their distance, their ratio, or their name") {
  CHECK(over(2, 4).share(2.5) == Approx(0.25));
  CHECK(over(1, 100, true).share(10) == Approx(0.5));
  auto const names = axis_of({"a", "b"});
  CHECK(names.share(0) == Approx(0.25));
  CHECK(names.share(1) == Approx(0.75));
  CHECK_FALSE(over(2, 4).holds(4.1));
  CHECK_FALSE(over(2, 4).holds(nan_value));
}

TEST_CASE("ticks are round numbers inside the axis, and at most as many as asked for") {
  check_ticks(over(0, 10), 6, {0, 2, 4, 6, 8, 10});
  check_ticks(over(-0.31, 0.29), 5, {-0.2, 0, 0.2});
  check_ticks(over(1, 1000, true), 5, {1, 10, 100, 1000});
  check_ticks(over(0.9, 11, true), 5, {1, 2, 5, 10});
  check_ticks(over(0.72, 1.6, true), 5, {0.8, 1, 1.2, 1.4, 1.6});
  check_ticks(over(1e-9, 1e9, true), 4, {1e-9, 1e-4, 1e1, 1e6});
  auto own = over(0, 100);
  own.at = {1, 2, 4, 8, 16};
  check_ticks(own, 5, {1, 2, 4, 8, 16});
  check_ticks(own, 3, {1, 4, 16});
  check_ticks(axis_of({"a", "b", "c"}), 2, {0, 1, 2});
}

TEST_CASE(
    "axes of values that nearly meet, or are as far apart as numbers can be, have few ticks") {
  auto const text = [](double each) { return plain_number(each); };
  for (auto const& [low, high] : {std::pair{1.0, 1.0 + 1e-15},
                                  {1.0, 1.0000000001},
                                  {1e-320, 2e-320},
                                  {1e9, 1e9 + 1e-7},
                                  {1e-305, 1e305},
                                  {1.0, 1e305},
                                  {1e-308, 1.7e308}}) {
    for (auto const logarithmic : {false, true}) {
      auto const made = axis_over({low, high}, "x", text, logarithmic);
      INFO(low << " to " << high);
      CHECK((std::isfinite(made.low) && std::isfinite(made.high)));
      CHECK((made.ticks(7).size() <= 7 && over(low, high, logarithmic).ticks(7).size() <= 7));
      CHECK((made.share(high) >= 0.5 && made.share(high) <= 1));
    }
  }
  CHECK(over(-1.7e308, 1.7e308).ticks(7).size() <= 7);
}

TEST_CASE("a logarithmic axis that does not begin above 0 is refused") {
  for (auto const& [low, high] : {std::pair{0.0, 1.0}, {-1.0, 1.0}, {1.0, HUGE_VAL}}) {
    auto const wrong = over(low, high, true);
    CHECK_THROWS_WITH((chart{"t", "d", wrong, over(0, 1)}), contains("begin above 0"));
    CHECK_THROWS_WITH((chart{"t", "d", over(0, 1), wrong}), contains("begin above 0"));
  }
}

TEST_CASE("an axis over values has room at both ends, also for values of one size") {
  auto const made = axis_over({1, nan_value, 3}, "x", plain_number);
  CHECK(made.low == Approx(0.88));
  CHECK(made.high == Approx(3.12));
  auto const one = axis_over({5}, "x", plain_number);
  CHECK(one.low < 5);
  CHECK(one.high > 5);
  auto const log = axis_over({-1, 0, 10, 1000}, "x", plain_number, true);
  CHECK(log.low < 10);
  CHECK(log.low > 1);
  CHECK(assay::test::message_of([] { axis_over({nan_value}, "time", plain_number); }) ==
        "the axis \"time\" has no finite value to show");
}

TEST_CASE("marks, intervals, rules and bands stand at their values") {
  chart drawn{"title", "words", over(0, 10), over(0, 4)};
  drawn.marks({{.x = 5, .y = 1, .text = "tip", .x_low = 2, .x_high = 20}}, 2);
  CHECK_THAT(drawn.svg("a").str(), contains("class=\"mark s2\" x=\"50.00%\" y=\"75.00%\"") &&
                                       contains("x1=\"20.00%\" y1=\"75.00%\" x2=\"100.00%\"") &&
                                       contains("<title>tip</title>"));
  drawn.band_y(1, 3);
  drawn.rule_x(2.5);
  drawn.rule_x(11);  // outside
  auto const svg = drawn.svg("a").str();
  CHECK_THAT(
      svg, contains("class=\"band\" x=\"0.00%\" y=\"25.00%\" width=\"100.00%\" height=\"50.00%\""));
  CHECK_THAT(svg,
             contains("class=\"rule\" x1=\"25.00%\" y1=\"0.00%\" x2=\"25.00%\" y2=\"100.00%\""));
  CHECK(count_of("class=\"rule\"", svg) == 1);
}

TEST_CASE("lines, steps, bands and dots are paths in a box of 1000") {
  chart drawn{"title", "words", over(0, 10), over(0, 4)};
  drawn.line({{0, 0}, {5, nan_value}, {10, 4}}, 0);
  drawn.steps({{2, 2}, {4, 4}}, 1);
  drawn.band({{0, 0}, {10, 1}}, {{0, 1}, {10, 2}}, 3);
  drawn.dots({{1, 1}, {11, 1}, {2, 2}}, 4);
  auto const svg = drawn.svg("a").str();
  CHECK_THAT(svg, contains("class=\"line s0\" d=\"M0 1000L1000 0\""));
  CHECK_THAT(svg, contains("class=\"line s1\" d=\"M200 1000V500H400V0H1000\""));
  CHECK_THAT(svg, contains("class=\"between s3\" d=\"M0 750L1000 500L1000 750L0 1000z\""));
  CHECK_THAT(svg, contains("class=\"dots s4\" d=\"M100 750h0M200 500h0\""));
}

TEST_CASE("bars and the cells of a heat map cover their part of the plot") {
  chart bars{"title", "words", over(0, 10), over(0, 1), 20, {false, false}};
  bars.bar(2, 7, 0.5, 0.5, 1, "part");
  CHECK_THAT(bars.svg("a").str(),
             contains("class=\"bar s1\" x=\"20.00%\" y=\"25.00%\" width=\"50.00%\" "
                      "height=\"50.00%\""));
  chart map{"title", "words", axis_of({"1", "2"}), axis_of({"a", "b"})};
  map.heat(1, 0, 0.25, "3 ms");
  CHECK_THAT(map.svg("a").str(),
             contains("--shade:0.25") && contains(">3 ms</text>") &&
                 contains("class=\"cell\" x=\"50.00%\" y=\"50.00%\" width=\"50.00%\""));
}

TEST_CASE("a chart has a text alternative, and escapes all text") {
  chart drawn{"a < b", "c & d", over(0, 1), axis_of({"<x>"})};
  drawn.note({0.5, 0}, "e > f");
  auto const svg = drawn.svg("id7").str();
  CHECK_THAT(svg, contains("role=\"img\" aria-label=\"a &lt; b\" aria-describedby=\"id7-d\"") &&
                      contains("<desc id=\"id7-d\">c &amp; d</desc>") &&
                      contains(">&lt;x&gt;</text>") && contains(">e &gt; f</text>"));
}

TEST_CASE("fewer ticks are drawn where their labels are long") {
  auto x = over(0, 6);
  chart const brief{"t", "d", x, over(0, 1), 100, {true, false}};
  CHECK(count_of("class=\"tick\"", brief.svg("a").str()) == 7);
  x.text = [](double) { return "a rather long label"; };
  chart const wordy{"t", "d", x, over(0, 1), 100, {true, false}};
  CHECK(count_of("class=\"tick\"", wordy.svg("a").str()) == 2);
}

TEST_CASE("a logarithmic axis labels only ticks whose labels stand apart on a narrow screen") {
  auto x = over(0.72, 1.6, true);  // the ticks 0.8, 1, 1.2, 1.4 and 1.6 come closer and closer
  x.text = [](double) { return "+20 %"; };
  chart const drawn{"t", "d", x, over(0, 1), 100, {true, false}};
  CHECK(count_of("class=\"tick\"", drawn.svg("a").str()) == 4);
  CHECK(count_of("class=\"grid\"", drawn.svg("a").str()) == 5);
}
