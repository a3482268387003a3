// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "report/sample.hpp"

#include <assay/report/junit.hpp>

using namespace assay;
using assay::test::contains;

namespace {

measure::comparison with(measure::verdict outcome) {
  auto all = test::sample();
  all.findings = {test::found("a < b", outcome, {1.2, 1.1, 1.3}, {-1, 1, 0, 0})};
  return all;
}

}  // namespace

TEST_CASE("each contrast is a case, with its clock and its sentence") {
  auto const all = with(measure::verdict::slower);
  auto const xml = report::junit({&all});
  CHECK_THAT(xml,
             contains("<testsuites tests=\"2\" failures=\"0\">") &&
                 contains("name=\"a &lt; b (wall clock)\"><system-out>SLOWER: ") &&
                 contains("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"0\" time=\"3.210\""));
}

TEST_CASE("wrong answers, objections of guards and failed epochs fail") {
  for (auto const outcome : {measure::verdict::wrong_answer, measure::verdict::unproven}) {
    auto const all = with(outcome);
    CHECK_THAT(report::junit({&all}),
               contains("<testsuites tests=\"2\" failures=\"1\">") &&
                   contains("<failure type=\"" + std::string{to_string(outcome)}));
  }
  auto all = with(measure::verdict::unproven);
  all.findings[0].primary = false;
  CHECK_THAT(report::junit({&all}), contains("<testsuites tests=\"2\" failures=\"0\">"));
  all.failure = "variant \"a\" threw";
  CHECK_THAT(
      report::junit({&all}),
      contains("failures=\"1\">") &&
          contains("<failure type=\"failed epoch\" message=\"variant &quot;a&quot; threw\"/>"));
}

TEST_CASE("a suite has a property that says how much of its results was checked") {
  auto all = with(measure::verdict::slower);
  CHECK_THAT(report::junit({&all}), !contains("<properties>"));
  for (auto& each : all.variants) { each.results = measure::checks::all; }
  all.variants[1].results = measure::checks::none;
  all.variants[1].label = "b<";
  auto const xml = report::junit({&all});
  CHECK_THAT(xml, contains("; not checked (b&lt;)\"/></properties>"));
  CHECK(xml.find("<testsuite ") <
        xml.find("<properties><property name=\"results\" value=\"checked ("));
  CHECK(xml.find("<properties>") < xml.find("<testcase"));
}

TEST_CASE("a gate fails what meets its condition, and counts go over all comparisons") {
  auto const one = with(measure::verdict::slower);
  auto const two = with(measure::verdict::equivalent);
  auto const gate = [](measure::comparison const&, measure::finding const& each) {
    return each.outcome == measure::verdict::slower ? std::string{"slower"} : std::string{};
  };
  CHECK_THAT(report::junit({&one, &two}, gate),
             contains("<testsuites tests=\"4\" failures=\"1\">") && contains("type=\"slower\""));
}
