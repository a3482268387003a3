// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
#include "catch.hpp"
#include "page/count_of.hpp"
#include "report/sample.hpp"

#include <assay/page/page.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/headline.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using assay::test::contains;
using assay::test::count_of;

namespace {

/// A factorial with an interaction of this outcome, epochs, cells and a hidden control.
measure::comparison factorial(measure::verdict interaction) {
  auto all = test::sample();
  all.findings = {
      test::found("memory x submission", interaction, {0.8, 0.7, 0.9}, {1, -1, -1, 1}),
      test::found("async against pool", measure::verdict::slower, {1.2, 1.1, 1.3}, {-1, 0, 1, 0}),
      test::found("mean of memory", measure::verdict::slower, {1.3, 1.2, 1.4},
                  {-0.5, -0.5, 0.5, 0.5})};
  all.findings[0].what = measure::contrast::kind::interaction;
  all.findings[2].what = measure::contrast::kind::main_effect;
  for (auto& each : all.findings) { each.epoch_effects = {0.1, 0.2, 0.15, 0.12}; }
  all.analyses = {{2, 0.01, -1, {measure::verdict::inconclusive}}, {4, 0.01, 0, {interaction}}};
  all.hidden_control = {1.001, 0.99, 1.01, 0.99};
  return all;
}

/// A comparison of as many variants with as many cells each, half of an hour long.
measure::comparison large(int variants, int cells) {
  measure::comparison all;
  all.title = "large";
  for (int v = 0; v < variants; ++v) {
    all.variants.push_back(test::sample_variant("variant", std::to_string(v), 1e-3));
    all.variants.back().axes.clear();
    all.variants.back().cells = {};
    for (int i = 0; i < cells; ++i) {
      double const seconds = 1e-3 * (1 + 0.01 * std::sin(i * 1.7 + v));
      all.cells.push_back({i / 16, i % 16, v, i % 2, 0.4 * i, {seconds, seconds, 1e-6}, 1.9e9});
      all.variants.back().cells[0].push_back(seconds);
    }
    if (v == 0) { continue; }
    std::vector<double> weights(static_cast<std::size_t>(variants), 0.0);
    weights[0] = -1;
    weights[static_cast<std::size_t>(v)] = 1;
    all.findings.push_back(test::found("contrast " + std::to_string(v),
                                       measure::verdict::equivalent, {1, 0.999, 1.001}, weights));
  }
  for (int i = 0; i <= cells / 16; ++i) {
    all.epoch_records.push_back({i, 1, 6.4 * i, 6.4, 0, ""});
  }
  return all;
}

}  // namespace

TEST_CASE("a page names each contrast and variant, and begins with the verdict and its clock") {
  auto const all = factorial(measure::verdict::faster);
  auto const page = report::page({{all}});
  for (auto const& each : all.findings) { CHECK_THAT(page, contains(each.contrast_name)); }
  for (auto const& each : all.variants) { CHECK_THAT(page, contains(each.label)); }
  auto const head = page.substr(page.find("class=\"headline\""), 400);
  CHECK_THAT(head,
             contains("verdict differs") && contains("DIFFERENT:") && contains("(wall clock)"));
  CHECK(page.find("class=\"headline\"") < page.find("<h2 "));
  CHECK_THAT(page, contains("second instance against its first"));
  CHECK_THAT(page, contains("<dt>seed</dt><dd>42</dd>"));
}

TEST_CASE("links below the head lead to each title, and only there") {
  auto const page = report::page({{factorial(measure::verdict::faster)}});
  auto const titles = count_of("<h2 id=\"", page);
  CHECK(titles > 4);
  CHECK(count_of("<h2", page) == titles);
  CHECK(count_of("<a href=\"#", page) == titles);
  for (auto at = page.find("<a href=\"#"); at != std::string::npos;
       at = page.find("<a href=\"#", at + 1)) {
    auto const begin = at + 10;
    CHECK(count_of("id=\"" + page.substr(begin, page.find('"', begin) - begin) + "\"", page) == 1);
  }
  CHECK(page.find("<nav>") < page.find("<h2 "));
}

TEST_CASE("the head of a page says how much was checked, and how typical calls differ") {
  auto all = factorial(measure::verdict::faster);
  CHECK_THAT(report::page({{all}}), !contains("results: ") && !contains("typical calls"));
  for (auto& each : all.variants) { each.results = measure::checks::none; }
  all.findings[1].typical_ratio = 1.0002;
  auto const page = report::page({{all}});
  CHECK(page.find("results: not checked<") < page.find("<h2 "));
  CHECK(page.find("async against pool: typical calls: +0.02 %; the mean") < page.find("<h2 "));
}

TEST_CASE("a page loads nothing") {
  auto const page = report::page({{factorial(measure::verdict::faster)}});
  for (auto const* part : {"http", "src=", "url(", "@import", "<link"}) {
    INFO(part);
    CHECK(page.find(part) == std::string::npos);
  }
}

TEST_CASE("main effects are drawn only where the factors do not interact") {
  auto const strip = std::string{"aria-label=\"mean of memory\""};
  CHECK_THAT(report::page({{factorial(measure::verdict::equivalent)}}), contains(strip));
  auto const page = report::page({{factorial(measure::verdict::slower)}});
  CHECK(page.find(strip) == std::string::npos);
  CHECK_THAT(page,
             contains("Not shown, since the factors interact and a mean over opposite effects "
                      "misleads: mean of memory."));
  CHECK(page.find("Interaction plot") < page.find("aria-label=\"async against pool\""));
}

TEST_CASE("text of a record is escaped everywhere") {
  auto all = factorial(measure::verdict::faster);
  std::string const evil = "</script><b onclick='x'>\x1b&";
  all.title = all.where.device = all.where.command_line = all.failure = all.changed = evil;
  all.notes = all.caveats = {evil};
  all.answers = all.reasons = {{evil, {evil}}};
  all.epoch_records = {{0, 1, 0, 1, 0, evil}};
  all.where.throttle_reasons = {evil};
  for (auto& each : all.findings) { each.contrast_name = each.reason = evil; }
  for (auto& each : all.variants) {
    each.label = evil;
    for (auto& [axis, choice] : each.axes) { axis += evil, choice += evil; }
    each.submission = measure::submission_profile{{1, 2, 3, 4}, {}, {}, {}, 1};
    each.costs = measure::launch_costs{{}, {}, 0.95, {{0, 25, 1e-4, 1e-3}}};
  }
  auto const page = report::page({{.of = all, .baseline = &all}});
  CHECK(page.find("<b onclick") == std::string::npos);
  CHECK(count_of("</script>", page) == 1);
  CHECK(page.find('\x1b') == std::string::npos);
}

TEST_CASE("a large comparison stays below the limit, and the page says what it left out") {
  auto const few = large(3, 100);
  CHECK(report::page({{few}}).find("left out to keep") == std::string::npos);
  auto const many = large(60, 2000);
  auto const page = report::page({{many}});
  CHECK(page.size() < report::page_limit + 20'000);
  CHECK_THAT(page, contains("Parts are left out to keep the page small") &&
                       contains("cells are shown, to keep the page small") &&
                       contains("rows, to keep the page small"));
}

TEST_CASE(
    "the page tells the cost of a launch from that of a cell, where cells of both are known") {
  auto all = factorial(measure::verdict::faster);
  CHECK_THAT(report::page({{all}}), !contains("launches in a cell"));
  all.launches = 200;
  all.variants[0].costs = {{3.9e-6, 4e-6, 4.1e-6},
                           {2.5e-6, 3e-6, 3.5e-6},
                           0.95,
                           {{0, 25, 103e-6, 803e-6}, {1, 50, 203e-6, 803e-6}}};
  all.variants[1].costs = {
      {4e-6, 5e-6, 6e-6}, {-1e-6, 1e-6, 3e-6}, 0.95, {{0, 25, 126e-6, 1001e-6}}};
  auto const page = report::page({{all}});
  CHECK(count_of("<figcaption>Time over launches per cell, wall clock</figcaption>", page) == 1);
  CHECK_THAT(page,
             contains("pool{10 GiB} + concurrent: a launch costs 4.000 us [3.900 us, 4.100 us], a "
                      "cell of 200 launches +3.000 us [+2.500, +3.500] more, 0.37 % of its time. "
                      "pool{10 GiB} + serialized: a launch costs 5.000 us [4.000 us, 6.000 us], a "
                      "cell of 200 launches +1.000 us [-1.000, +3.000] more, not distinguishable "
                      "from zero."));
  CHECK_THAT(page, contains("Table: costs of launches and of cells"));
  // Two cells and their full ones of the first variant, one of each of the second.
  auto const chart = page.substr(page.find("aria-label=\"Time over launches per cell"));
  auto const dots = chart.substr(chart.find("class=\"dots s0\""), 200);
  CHECK(count_of("h0", dots.substr(0, dots.find("/>"))) == 4);
}

TEST_CASE("cells outside of the picture are counted") {
  auto all = large(2, 200);
  all.variants[1].cells[0][7] = 1;
  all.cells[207].seconds[0] = 1;
  CHECK_THAT(report::page({{all}}), contains("Cells outside of the picture: 1 of 400.") &&
                                        contains("Cells outside of the picture: 1. "));
}

TEST_CASE("a sweep has a curve, and open markers where a verdict names a faster variant") {
  auto all = large(4, 64);
  for (std::size_t i = 0; i < 4; ++i) {
    all.variants[i].label = "block " + std::to_string(64 << i);
  }
  all.findings[1].outcome = measure::verdict::slower;
  auto const page = report::page({{all}});
  CHECK_THAT(page, contains("Time over block, wall clock") && contains("slower than"));
  auto const curve = page.substr(page.find("Median times of the variants"), 5000);
  CHECK(count_of("mark s0 open", curve.substr(0, curve.find("</figure>"))) == 1);
}

TEST_CASE("a sweep of pairs has ratios with a band, each pair at its place") {
  measure::comparison all;
  for (auto const* n : {"100", "1000", "10000"}) {
    for (auto const* kernel : {"plain", "tiled"}) {
      all.variants.push_back(test::sample_variant(kernel, n, 1e-3));
      all.variants.back().label = std::string{"n="} + n + ": " + kernel;
      all.variants.back().axes = {{"kernel", kernel}, {"n", n}};
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<double> weights(6, 0.0);
    weights[2 * i] = -1;
    weights[2 * i + 1] = 1;
    auto const ratio = i == 0 ? 0.5 : i == 1 ? 1.0 : 2.0;
    all.findings.push_back(
        test::found("pair", i == 1 ? measure::verdict::inconclusive : measure::verdict::faster,
                    {ratio, ratio / 1.25, ratio * 1.25}, weights));
  }
  auto const page = report::page({{all}});
  auto const title = page.find("aria-label=\"tiled against plain\"");
  REQUIRE(title != std::string::npos);
  CHECK(count_of("against plain\"", page) == 1);  // the controls have no ratios
  auto const picture = page.substr(title, page.find("</figure>", title) - title);
  CHECK(count_of("class=\"between s1\"", picture) == 1);
  CHECK(count_of("mark s1", picture) == 3);
  CHECK(count_of("mark s1 open", picture) == 1);
  // From 0.4 to 2.5, so 1 is in the middle, also of the sizes.
  CHECK_THAT(picture, contains("class=\"mark s1 open\" x=\"50.00%\" y=\"50.00%\""));
  CHECK_THAT(page, contains("hold together at 95 % over all points"));
  CHECK(page.find(">Sweep over n</h2>") < page.find(">Effects on the wall clock</h2>"));
}

TEST_CASE("an interval of an interim analysis is that of the epochs before it") {
  auto all = factorial(measure::verdict::faster);
  all.findings = {all.findings[1]};
  all.findings[0].epoch_effects = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
  all.analyses = {{4, 0.2, 0, {}}, {6, 0.1, 0, {}}};
  auto const page = report::page({{all}});
  // Walsh averages of the first four effects: from 0.1 to 0.4.
  CHECK_THAT(page, contains("<title>[+10.5, +49.2]</title>"));
}

TEST_CASE("several comparisons are sections of one page, and a saved one proves nothing") {
  auto const one = factorial(measure::verdict::faster);
  auto two = large(2, 32);
  auto const page = report::page({{.of = one, .baseline = &two}, {two}});
  CHECK_THAT(page, contains("<a href=\"#part-") && contains(">large</a>"));
  CHECK_THAT(page, contains(report::escaped(report::baseline_caveat)) &&
                       contains("not in the saved result"));
  CHECK(count_of("<section", page) == 2);
}

TEST_CASE("an empty, a failed and a wrong comparison have a page without times") {
  CHECK_THAT(report::page({{measure::comparison{}}}), contains("Nothing was compared."));
  measure::comparison failed;
  failed.failure = "variant a threw";
  CHECK_THAT(report::page({{failed}}), contains("The comparison ended early: variant a threw."));
  auto wrong = factorial(measure::verdict::faster);
  wrong.findings[1].outcome = measure::verdict::wrong_answer;
  wrong.findings[1].reason = "element 3 is 4, not 5";
  auto const page = report::page({{wrong}});
  CHECK_THAT(page, contains("WRONG ANSWER:</span> no comparison of"));
  auto const strip = page.substr(page.find("aria-label=\"async against pool\""), 900);
  CHECK(strip.substr(0, strip.find("</li>")).find("class=\"mark") == std::string::npos);
}

TEST_CASE("a page of numbers that are missing has no NaN in it") {
  auto all = factorial(measure::verdict::inconclusive);
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  for (auto& each : all.findings) {
    each.effect = {nothing, 0, std::numeric_limits<double>::infinity(), 0.95};
    each.epoch_effects = {nothing, 0.1};
  }
  all.variants[1].cells[0] = {nothing, 1e-3};
  all.variants[2].seconds = {};
  auto const page = report::page({{all}});
  for (auto const* part : {"nan", "inf%", "NaN"}) {
    INFO(part);
    CHECK(page.find(part) == std::string::npos);
  }
}

TEST_CASE("a record of schema 1 has medians of epochs") {
  auto all = factorial(measure::verdict::faster);
  all.epochs = 2;
  auto const page = report::page({{all}});
  CHECK_THAT(page, contains("Table: medians of epochs") && contains(">cell, in run order</text>"));
}

TEST_CASE("epochs are drawn with the margin only where their differences stay visible") {
  auto all = factorial(measure::verdict::faster);
  all.findings = {all.findings[1]};
  auto& one = all.findings[0];
  auto const has_margin = [&] {
    auto const page = report::page({{all}});
    auto const epochs = page.substr(page.find(">Epochs</h2>"));
    return epochs.substr(0, epochs.find("</figure>")).find("class=\"rule\"") != std::string::npos;
  };
  one.effect = {1.2, 1.1, 1.3, 0.95};
  CHECK(has_margin());
  one.effect = {1.2, 1.199, 1.201, 0.95};
  one.epoch_effects = {std::log(1.2), std::log(1.201), std::log(1.199), std::log(1.2)};
  CHECK_FALSE(has_margin());
}

TEST_CASE("equal ratios are parallel lines of an interaction plot") {
  auto all = factorial(measure::verdict::equivalent);
  for (std::size_t i = 0; i < 4; ++i) {
    double const seconds = std::vector{1e-3, 2e-3, 2e-3, 4e-3}[i];
    all.variants[i].seconds[0] = {seconds, seconds, seconds, seconds, seconds, 64};
  }
  auto const page = report::page({{all}});
  auto const rise = [&](char const* style) {
    auto const line = page.substr(page.find(std::string{"class=\"line "} + style + "\" d=\"M250 ",
                                            page.find("Interaction plot")));
    auto const from = std::stod(line.substr(line.find("M250 ") + 5));
    return from - std::stod(line.substr(line.find("L750 ") + 5));
  };
  CHECK(rise("s0") > 100);
  CHECK(rise("s0") == Approx(rise("s1")).margin(0.2));
}
