// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "report/sample.hpp"

#include <assay/cli/gate.hpp>

using namespace assay;
using measure::verdict;
using names = std::vector<std::string>;

namespace {
measure::comparison with(std::vector<measure::finding> findings) {
  measure::comparison all;
  all.findings = std::move(findings);
  return all;
}
measure::estimate const known{1.1, 1.05, 1.15};
measure::finding of(verdict outcome) { return test::found("c", outcome, known); }
}  // namespace

TEST_CASE("without conditions only wrong answers and failures fail") {
  for (auto const outcome : {verdict::faster, verdict::slower, verdict::equivalent,
                             verdict::inconclusive, verdict::unproven}) {
    CHECK(cli::judge(with({of(outcome)}), {}) == cli::ok);
  }
  CHECK(cli::judge(with({of(verdict::equivalent), of(verdict::wrong_answer)}), {}) ==
        cli::wrong_answer);
  CHECK(cli::judge(with({}), {}) == cli::ok);
}

TEST_CASE("each condition holds for its verdicts") {
  struct expectation {
    char const* condition;
    std::vector<verdict> holds;
  };
  for (auto const& [condition, holds] :
       {expectation{"slower", {verdict::slower}}, expectation{"faster", {verdict::faster}},
        expectation{"different", {verdict::slower, verdict::faster}},
        expectation{"inconclusive", {verdict::inconclusive}},
        expectation{"unproven", {verdict::unproven}}}) {
    for (auto const outcome : {verdict::faster, verdict::slower, verdict::equivalent,
                               verdict::inconclusive, verdict::unproven}) {
      INFO(condition << " " << to_string(outcome));
      auto const expected = std::ranges::count(holds, outcome) > 0 ? cli::gate_holds
                            : outcome == verdict::unproven         ? cli::gate_unproven
                                                                   : cli::ok;
      CHECK(cli::judge(with({of(outcome)}), {condition}) == expected);
    }
  }
}

TEST_CASE("a difference inside the margin, or on a clock that did not decide, passes the gate") {
  auto below = of(verdict::slower);
  below.exceeds_margin = false;
  CHECK(cli::judge(with({below}), {"slower", "different"}) == cli::ok);
  auto secondary = of(verdict::slower);
  secondary.primary = false;
  CHECK(cli::judge(with({secondary}), {"slower", "different"}) == cli::ok);
  secondary.outcome = verdict::unproven;
  CHECK(cli::judge(with({of(verdict::equivalent), secondary}), {"slower"}) == cli::ok);
}

TEST_CASE("a difference counts only where its whole interval lies beyond the margin") {
  struct row {
    verdict outcome;
    double low, high;
    bool beyond;
  };
  for (double const margin : {0.005, 0.01, 0.2}) {
    auto const end = 1 + margin;
    for (auto const& [outcome, low, high, beyond] :
         {row{verdict::slower, end + 1e-4, end + 0.1, true},
          row{verdict::slower, end - 1e-4, end + 0.1, false},
          row{verdict::slower, 1.0001, end - 1e-4, false},
          row{verdict::faster, 0.5, 1 / end - 1e-4, true},
          row{verdict::faster, 0.5, 1 / end + 1e-4, false},
          row{verdict::faster, 1 / end + 1e-4, 0.9999, false}}) {
      INFO(margin << ": " << low << " to " << high);
      auto all = with({test::found("c", outcome, {0.5 * (low + high), low, high})});
      all.margin = margin;
      std::string const word = outcome == verdict::slower ? "slower" : "faster";
      for (auto const& condition : {word, std::string{"different"}}) {
        CHECK(cli::judge(all, {condition}) == (beyond ? cli::gate_holds : cli::ok));
        CHECK(cli::met_by(all, all.findings[0], {condition}) == (beyond ? condition : ""));
      }
      all.findings[0].what = measure::contrast::kind::interaction;
      CHECK(cli::judge(all, {"different"}) == (beyond ? cli::gate_holds : cli::ok));
    }
  }
}

TEST_CASE("conditions on a difference make a comparison run until its size is known") {
  for (auto const* const each : {"slower", "faster", "different"}) {
    CHECK(cli::asks_for_size({"unproven", each}));
  }
  CHECK_FALSE(cli::asks_for_size({}));
  CHECK_FALSE(cli::asks_for_size({"inconclusive", "unproven"}));
}

TEST_CASE("an interaction has no slower and no faster, but may be a difference") {
  auto crossed = of(verdict::slower);
  crossed.what = measure::contrast::kind::interaction;
  CHECK(cli::judge(with({crossed}), {"slower", "faster"}) == cli::ok);
  CHECK(cli::judge(with({crossed}), {"different"}) == cli::gate_holds);
}

TEST_CASE(
    "a wrong answer outranks a gate, and a condition that holds one that cannot be answered") {
  CHECK(cli::judge(with({of(verdict::slower), of(verdict::wrong_answer)}), {"slower"}) ==
        cli::wrong_answer);
  CHECK(cli::judge(with({of(verdict::unproven), of(verdict::slower)}), {"slower"}) ==
        cli::gate_holds);
  CHECK(cli::judge(with({of(verdict::unproven), of(verdict::equivalent)}), {"slower"}) ==
        cli::gate_unproven);
}

TEST_CASE("a comparison that ended before it could say anything has failed") {
  auto early = with({test::found("c", verdict::unproven, {})});
  CHECK(cli::judge(early, {}) == cli::failed);
  CHECK(cli::judge(early, {"unproven"}) == cli::failed);
  auto broken = with({of(verdict::unproven)});
  CHECK(cli::judge(broken, {}) == cli::ok);
  broken.failure = "variant \"a\", epoch 9, timing: out of memory";
  CHECK(cli::judge(broken, {}) == cli::failed);
}
