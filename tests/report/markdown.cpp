// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "report/sample.hpp"

#include <assay/report/markdown.hpp>

using namespace assay;
using assay::test::contains;

namespace {

measure::comparison two() {
  auto all = test::sample();
  all.findings = {
      test::found("new|old", measure::verdict::slower, {1.2, 1.1, 1.3}, {-1, 1, 0, 0}),
      test::found("new|old", measure::verdict::faster, {0.9, 0.8, 0.95}, {-1, 1, 0, 0})};
  all.findings[1].primary = false;
  all.findings[1].on = measure::clock::submit;
  all.notes = {"a <note> of *stars*"};
  return all;
}

}  // namespace

TEST_CASE("the verdict comes first, then a table of the primary clock, then details") {
  auto const text = report::markdown(two());
  CHECK_THAT(text, contains("### null\\_cast: which allocator, submitted how?\n\n**SLOWER**: "));
  CHECK_THAT(text, contains("| new\\|old | wall | SLOWER | +20.0 % \\[+10.0, +30.0\\] |\n"));
  CHECK(text.find("| wall | SLOWER") < text.find("<details><summary>Other clocks</summary>\n\n|"));
  CHECK(text.find("| submit | FASTER") > text.find("<summary>Other clocks"));
  CHECK_THAT(text, contains("- a &lt;note&gt; of \\*stars\\*\n"));
  CHECK_THAT(text, contains("- seed: 42\n"));
}

TEST_CASE("Markdown says how much was checked, and how typical calls differ") {
  auto all = two();
  CHECK_THAT(report::markdown(all), !contains("results: ") && !contains("typical calls"));
  for (auto& each : all.variants) { each.results = measure::checks::part; }
  all.findings[0].typical_ratio = 1.0002;
  CHECK_THAT(report::markdown(all),
             contains("\n\nresults: checked in part\n\n") &&
                 contains("\n\nnew\\|old: typical calls: +0.02 %; the mean differs by +20.0 %."));
}

TEST_CASE("several verdicts are counted in the first sentence") {
  auto all = two();
  all.findings[1].primary = true;
  CHECK_THAT(report::markdown(all),
             contains("2 verdicts, each against a control (wall clock): 1 SLOWER; 1 FASTER."));
  all.findings[1].outcome = measure::verdict::wrong_answer;
  all.findings[1].reason = "element 3 is 4, not 5";
  CHECK_THAT(report::markdown(all), contains("\n\n**WRONG ANSWER**: no comparison of ") &&
                                        contains("element 3 is 4, not 5"));
  all.findings.clear();
  CHECK_THAT(report::markdown(all), contains("Nothing was compared."));
  all.failure = "variant a threw";
  CHECK_THAT(report::markdown(all), contains("The comparison ended early: variant a threw."));
}

TEST_CASE("a saved result stands beside the new one, and is called no proof") {
  auto saved = two();
  saved.findings.pop_back();
  saved.findings[0].effect = {1.1, 1.05, 1.15};
  auto const all = two();
  auto const text = report::markdown(all, &saved);
  CHECK_THAT(text, contains("A saved result proves nothing about this one"));
  CHECK_THAT(text, contains("| +20.0 % \\[+10.0, +30.0\\] | +10.0 % \\[+5.0, +15.0\\] |"));
  CHECK_THAT(text, contains("| submit | -10.0 % \\[-20.0, -5.0\\] | not in the saved result |"));
}
