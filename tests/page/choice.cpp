// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "page/count_of.hpp"
#include "report/sample.hpp"

#include <assay/page/page.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using assay::test::contains;
using assay::test::count_of;
using measure::verdict;

namespace {

/// Variants `a`, `b` and so on, of which all but the first have a verdict against the first.
measure::comparison star(std::vector<std::pair<verdict, measure::estimate>> const& against) {
  measure::comparison all;
  for (std::size_t i = 0; i <= against.size(); ++i) {
    all.variants.push_back(test::sample_variant("x", "y", 1e-3));
    all.variants.back().label = std::string(1, static_cast<char>('a' + i));
    all.variants.back().axes.clear();
  }
  for (std::size_t i = 0; i < against.size(); ++i) {
    std::vector<double> weights(all.variants.size(), 0.0);
    weights[0] = -1;
    weights[i + 1] = 1;
    all.findings.push_back(
        test::found("contrast", against[i].first, against[i].second, std::move(weights)));
  }
  return all;
}

/// The first line of a page, without its markup.
std::string first_line(measure::comparison const& all) {
  auto const page = report::page({{all}});
  auto const begin = page.find("<p class=\"choice\">");
  if (begin == std::string::npos) { return {}; }
  CHECK(begin < page.find("class=\"headline\""));
  std::string text;
  bool inside = false;
  for (char const each : page.substr(begin, page.find("</p>", begin) - begin)) {
    if (each == '<') { inside = true; }
    if (!inside) { text += each; }
    if (each == '>') { inside = false; }
  }
  for (auto at = text.find("\xC2\xA0"); at != std::string::npos; at = text.find("\xC2\xA0")) {
    text.replace(at, 2, " ");
  }
  return text;
}

}  // namespace

TEST_CASE("a page begins with the variant to choose, by how much, how sure, and what that saves") {
  CHECK(first_line(star({{verdict::faster, {0.8, 0.75, 0.85}}})) ==
        "Choose b: 20.0 % less time than a [15.0, 25.0], sure at 95 %. It saves about 200.0 us of "
        "1.000 ms a launch.");
  // The control wins: a share of the slower one's time.
  CHECK(first_line(star({{verdict::slower, {1.25, 1.25, 2}}})) ==
        "Choose a: 20.0 % less time than b [20.0, 50.0], sure at 95 %. It saves about 200.0 us of "
        "1.000 ms a launch.");
}

TEST_CASE("the first line names the memory that a choice holds") {
  auto all = star({{verdict::faster, {0.8, 0.75, 0.85}}});
  for (auto& each : all.variants) { each.memory.emplace().peak_bytes = 1 << 20; }
  all.variants[1].memory->reserved_bytes = 10 << 20;
  CHECK_THAT(first_line(all), contains(", and it holds 10.0 MiB of memory, not 1.00 MiB."));
}

TEST_CASE("no variant is chosen where nothing is proven, and the first line says why") {
  auto const line = [](verdict of, measure::estimate effect) {
    return first_line(star({{of, effect}}));
  };
  CHECK(line(verdict::inconclusive, {0.8, 0.6, 1.1}) ==
        "INCONCLUSIVE: no difference proven between a and b; choose by other grounds.");
  CHECK(line(verdict::unproven, {0.8, 0.75, 0.85}) ==
        "UNPROVEN: no difference proven between a and b; choose by other grounds.");
  CHECK(line(verdict::equivalent, {1, 0.999, 1.001}) ==
        "EQUIVALENT: no difference that matters (1 %) between a and b; choose by other grounds.");
  CHECK(line(verdict::wrong_answer, {0.8, 0.75, 0.85}) ==
        "WRONG ANSWER: a result is wrong; mend or remove its variant before you choose.");
  // A sign whose whole interval is within the margin matters to nobody.
  CHECK(line(verdict::faster, {0.997, 0.996, 0.998}) ==
        "EQUIVALENT: no difference that matters (1 %) between a and b; choose by other grounds.");
  CHECK(first_line(measure::comparison{}).empty());
}

TEST_CASE("of several variants, one is chosen only if its intervals are apart from all others") {
  auto apart = star({{verdict::faster, {0.8, 0.78, 0.82}}, {verdict::faster, {0.6, 0.58, 0.62}}});
  CHECK_THAT(first_line(apart), contains("Choose c: 40.0 % less time than a [38.0, 42.0]"));
  auto together = star({{verdict::faster, {0.8, 0.7, 0.9}}, {verdict::faster, {0.75, 0.65, 0.85}}});
  CHECK_THAT(
      first_line(together),
      contains("INCONCLUSIVE: no difference proven between b and c; choose by other grounds") &&
          !contains("Choose "));
  // An interval that a guard objects to proves nothing, so that b may still be the best.
  auto guarded =
      star({{verdict::unproven, {0.8, 0.78, 0.82}}, {verdict::faster, {0.6, 0.58, 0.62}}});
  CHECK_THAT(first_line(guarded), contains("UNPROVEN: no difference proven between b and c"));
}

TEST_CASE("nothing is chosen from intervals that contradict each other") {
  // b is faster than a, c than b, and a than c.
  auto all = star({{verdict::faster, {0.8, 0.75, 0.85}}, {verdict::slower, {1.25, 1.2, 1.3}}});
  all.findings.push_back(
      test::found("contrast", verdict::faster, {0.8, 0.75, 0.85}, {0.0, -1.0, 1.0}));
  CHECK(first_line(all) == "INCONCLUSIVE: intervals contradict each other; measure again.");
}

TEST_CASE("a choice follows from verdicts in a chain") {
  auto all = star({{verdict::slower, {1.2, 1.15, 1.25}}, {verdict::inconclusive, {1, 0.5, 2}}});
  all.findings[1] = test::found("c against b", verdict::slower, {1.3, 1.25, 1.35}, {0, -1, 1});
  CHECK_THAT(first_line(all), contains("Choose a: 16.7 % less time than b"));

  // The first contrast is of two variants that only a later one connects with the others.
  auto later = star({{verdict::slower, {1.2, 1.15, 1.25}},
                     {verdict::faster, {0.9, 0.85, 0.95}},
                     {verdict::faster, {0.8, 0.75, 0.85}}});
  later.findings[2].weights = {0, 0, -1, 1};
  std::ranges::reverse(later.findings);
  CHECK_THAT(first_line(later), contains("Choose d: 20.0 % less time than c"));
}

TEST_CASE("a sweep has the winner of each size, and the sizes where it changes") {
  measure::comparison all;
  std::vector<std::string> const sizes{"100", "1000", "10000", "100000"};
  for (auto const& n : sizes) {
    for (auto const* kernel : {"plain", "tiled"}) {
      all.variants.push_back(test::sample_variant(kernel, n, 1e-3));
      all.variants.back().label = "n=" + n + ": " + kernel;
      all.variants.back().axes = {{"kernel", kernel}, {"n", n}};
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::vector<double> weights(all.variants.size(), 0.0);
    weights[2 * i] = -1;
    weights[2 * i + 1] = 1;
    auto const ratio = i < 2 ? 0.5 : i == 2 ? 1.0 : 1.5;
    all.findings.push_back(test::found("pair",
                                       i < 2    ? verdict::faster
                                       : i == 2 ? verdict::inconclusive
                                                : verdict::slower,
                                       {ratio, ratio * 0.9, ratio * 1.1}, weights));
  }
  CHECK(first_line(all) ==
        "Choose by n. n 100 to 1000: tiled; n 10000: INCONCLUSIVE, choose by other grounds; n "
        "100000: plain. Each is sure at 95 %, all together.");
  auto const page = report::page({{all}});
  auto const table = page.substr(page.find("<caption>choice at each n"));
  CHECK(count_of("<tr>", table.substr(0, table.find("</table>"))) == 5);
  auto const variants = page.substr(page.find("<caption>variants of the sweep"));
  CHECK(count_of("<td>*</td>", variants.substr(0, variants.find("</table>"))) == 3);
}

TEST_CASE("a heat map marks what the table marks: the winners") {
  measure::comparison all;
  for (auto const* size : {"1 KiB", "2 KiB", "4 KiB"}) {
    for (auto const* stages : {"1 stage", "2 stages"}) {
      for (auto const* kind : {"plain", "bulk"}) {
        all.variants.push_back(test::sample_variant(kind, size, 1e-3));
        all.variants.back().label = std::string{size} + ", " + stages + ", " + kind;
        all.variants.back().axes = {{"size", size}, {"stages", stages}, {"kind", kind}};
      }
    }
  }
  // One pair is open: no mark on either side of it.
  for (std::size_t i = 0; i < 6; ++i) {
    std::vector<double> weights(all.variants.size(), 0.0);
    weights[2 * i] = -1;
    weights[2 * i + 1] = 1;
    all.findings.push_back(test::found("pair", i == 4 ? verdict::inconclusive : verdict::faster,
                                       {0.9, 0.88, 0.92}, weights));
  }
  auto const page = report::page({{all}});
  CHECK(count_of(" *</text>", page) == 5);
  auto const variants = page.substr(page.find("<caption>variants of the sweep"));
  CHECK(count_of("<td>*</td>", variants.substr(0, variants.find("</table>"))) == 5);
}
