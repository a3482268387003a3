// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "report/sample.hpp"

#include <assay/report/words.hpp>

using namespace assay;
using measure::verdict;

namespace {
measure::comparison const all = test::sample();
std::vector<double> const second_against_first{-1, 1, 0, 0};

/// The sentence up to its clock, which each sentence names at its end.
std::string said(measure::finding const& about) {
  std::string const clock = " (wall clock)";
  auto const text = report::sentence(about, all);
  REQUIRE(text.ends_with(clock));
  return text.substr(0, text.size() - clock.size());
}

}  // namespace

TEST_CASE("a difference names who is slower than whom, by how much") {
  CHECK(
      said(test::found("c", verdict::slower, {1.031, 1.02, 1.042}, second_against_first)) ==
      "pool{10 GiB} + serialized is slower than pool{10 GiB} + concurrent by 3.10 % [2.00, 4.20]");
}

TEST_CASE("a sentence names the clock of its number") {
  auto about = test::found("c", verdict::slower, {1.031, 1.02, 1.042});
  for (auto const clock : measure::all_clocks) {
    about.on = clock;
    CHECK(report::sentence(about, all) ==
          "c: slower by 3.10 % [2.00, 4.20] (" + std::string{to_string(clock)} + " clock)");
  }
}

TEST_CASE("the interval of FASTER has exchanged ends") {
  CHECK(
      said(test::found("c", verdict::faster, {0.97, 0.96, 0.985}, second_against_first)) ==
      "pool{10 GiB} + serialized is faster than pool{10 GiB} + concurrent by 3.00 % [1.50, 4.00]");
}

TEST_CASE("a resolved difference inside the margin says so") {
  auto about = test::found("c", verdict::slower, {1.003, 1.0021, 1.0039}, second_against_first);
  about.exceeds_margin = false;
  CHECK(
      said(about) ==
      "pool{10 GiB} + serialized is slower than pool{10 GiB} + concurrent by 0.30 % [0.21, 0.39], "
      "below your 1 %");
}

TEST_CASE("a resolved difference that may be inside the margin says so, in both directions") {
  CHECK(said(test::found("c", verdict::slower, {1.013, 1.009, 1.016}, second_against_first))
            .ends_with("by 1.30 % [0.90, 1.60], perhaps below your 1 %"));
  CHECK(said(test::found("c", verdict::faster, {0.985, 0.98, 0.9905}, second_against_first))
            .ends_with("by 1.50 % [0.95, 2.00], perhaps below your 1 %"));
  CHECK(said(test::found("c", verdict::slower, {1.013, 1.0101, 1.016}, second_against_first))
            .ends_with("[1.01, 1.60]"));
}

TEST_CASE("a change above 100 % is a factor, in sentences and in tables") {
  auto about = test::found("c", verdict::slower, {5.8, 5.7, 5.9}, second_against_first);
  CHECK(said(about) ==
        "pool{10 GiB} + serialized takes 5.80 times as long as pool{10 GiB} + concurrent "
        "[5.70, 5.90]");
  CHECK(report::effect_and_interval(about) == "5.80x [5.70, 5.90]");
  about.is_bound = true;
  about.reason = "why";
  CHECK(said(about) ==
        "pool{10 GiB} + serialized takes at least 5.70 times as long as pool{10 GiB} + "
        "concurrent (why)");
  CHECK(said(test::found("c", verdict::slower, {5.8, 5.7, 5.9})) ==
        "c: takes 5.80 times as long [5.70, 5.90]");
  about = test::found("c", verdict::slower, {1.9, 1.8, 2.01}, second_against_first);
  CHECK(report::effect_and_interval(about) == "1.90x [1.80, 2.01]");  // one form for all three
  about.effect.high = 2;
  CHECK(report::effect_and_interval(about) == "+90 % [+80, +100]");
  about = test::found("i", verdict::slower, {2.5, 2.25, 2.75});
  about.what = measure::contrast::kind::interaction;
  CHECK(said(about) == "i: the gaps differ by a factor of 2.50 [2.25, 2.75]");
  CHECK(said(test::found("c", verdict::faster, {0.4, 0.38, 0.42}, second_against_first))
            .ends_with("by 60.0 % [58.0, 62.0], a factor of 2.50"));
}

TEST_CASE("a bound says at least how much, and why no more is known") {
  auto about = test::found("c", verdict::slower, {1.2, 1.17, 1.23}, second_against_first);
  about.is_bound = true;
  about.reason = "\"x\" differs from its own second instance by +2.00 %";
  CHECK(said(about) ==
        "pool{10 GiB} + serialized is slower than pool{10 GiB} + concurrent by at least 17.0 % "
        "(\"x\" differs from its own second instance by +2.00 %)");
  about.outcome = verdict::faster;
  about.effect = {0.8, 0.78, 0.82};
  CHECK(said(about).find("faster than pool{10 GiB} + concurrent by at least 18.0 % (") !=
        std::string::npos);
}

TEST_CASE("the sentence on typical calls names the variant whose slow calls move the mean") {
  auto with_calls = all;  // medians of 1.0 and 1.1 ms
  auto about = test::found("c", verdict::slower, {1.22, 1.2, 1.24}, second_against_first);
  CHECK(report::typical_sentence(about, with_calls).empty());
  about.typical_ratio = 1.0002;
  CHECK(report::typical_sentence(about, with_calls) ==
        "typical calls: +0.02 %; the mean differs by +22.0 %.");
  with_calls.variants[1].slow_share = 1.0 / 9;
  with_calls.variants[1].slow_seconds = 3e-3;
  with_calls.variants[0].slow_share = 0.001;  // adds too little to be the cause
  with_calls.variants[0].slow_seconds = 2e-3;
  with_calls.variants[2].slow_share = 0.4;  // not in this contrast
  with_calls.variants[2].slow_seconds = 1;
  CHECK(report::typical_sentence(about, with_calls) ==
        "typical calls: +0.02 %; the mean differs by +22.0 %, since 1 call in 9 of "
        "\"pool{10 GiB} + serialized\" takes 3.000 ms.");
  with_calls.variants[0].slow_share = 0.28;
  CHECK(report::typical_sentence(about, with_calls) ==
        "typical calls: +0.02 %; the mean differs by +22.0 %, since 28.0 % of the calls of "
        "\"pool{10 GiB} + concurrent\" take 2.000 ms and 1 call in 9 of "
        "\"pool{10 GiB} + serialized\" takes 3.000 ms.");
  about.outcome = verdict::wrong_answer;
  CHECK(report::typical_sentence(about, with_calls).empty());
}

TEST_CASE("equivalence names the largest difference left, rounded up") {
  CHECK(said(test::found("c", verdict::equivalent, {1.0001, 0.9962, 1.00412},
                         second_against_first)) ==
        "no difference larger than 0.42 % between pool{10 GiB} + concurrent and pool{10 GiB} + "
        "serialized");
  CHECK(said(test::found("c", verdict::equivalent, {0.9999, 0.99388, 1.002})) ==
        "no difference larger than 0.62 % for c");
}

TEST_CASE("INCONCLUSIVE has the number of epochs that settle it, where known") {
  auto about =
      test::found("c", verdict::inconclusive, {1.0001, 0.9862, 1.0141}, second_against_first);
  CHECK(said(about) ==
        "cannot tell yet between pool{10 GiB} + concurrent and pool{10 GiB} + serialized: +0.01 % "
        "[-1.38, +1.41] after 12 epochs");
  about.epochs_needed = 52;
  CHECK(said(about).ends_with("; about 52 epochs would settle it"));
  about.effect = {};
  CHECK(said(about).find(": no bound after 12 epochs") != std::string::npos);
}

TEST_CASE("unproven gives the guard, and an estimate only where there was an interval") {
  auto about = test::found("c", verdict::unproven, {1.02, 1.01, 1.03}, second_against_first);
  about.reason = "throttled: hardware slowdown";
  CHECK(said(about) ==
        "nothing is proven about pool{10 GiB} + concurrent and pool{10 GiB} + serialized: "
        "throttled: hardware slowdown (it looked like +2.00 % [+1.00, +3.00])");
  about.effect = {};
  CHECK(said(about).ends_with("throttled: hardware slowdown"));
}

TEST_CASE("a wrong answer gives the reason and no time") {
  auto about = test::found("c", verdict::wrong_answer, {}, second_against_first);
  about.reason = "row 5 is 3, expected 4";
  CHECK(said(about) ==
        "no comparison of pool{10 GiB} + concurrent and pool{10 GiB} + serialized: row 5 is 3, "
        "expected 4");
}

TEST_CASE("an interaction is a gap that differs, in the direction of the variants") {
  auto about =
      test::found("memory x submission", verdict::slower, {1.031, 1.02, 1.042}, {1, -1, -1, 1});
  about.what = measure::contrast::kind::interaction;
  // The sample's gap is 1.1 with the pool and 1.4 / 1.2 with async: more with async.
  auto const more = said(about);
  CHECK(more ==
        "the gap between concurrent and serialized differs by 3.10 % [2.00, 4.20] between "
        "pool and async: going from concurrent to serialized costs more with async");
  about.weights = {-1, 1, 1, -1};
  CHECK(said(about).ends_with("going from concurrent to serialized costs more with pool"));
  about.weights = {1, -1, -1, 1};
  about.outcome = verdict::faster;
  about.effect = {0.97, 0.96, 0.98};
  CHECK(said(about).ends_with("going from concurrent to serialized costs less with async"));
  about.outcome = verdict::equivalent;
  CHECK(said(about) ==
        "no difference larger than 4.00 % in the gap between concurrent and serialized, "
        "pool against async");
  about.outcome = verdict::inconclusive;
  CHECK(
      said(about).starts_with("cannot tell yet for the gap between concurrent and serialized, "
                              "pool against async: -3.00 %"));
}

TEST_CASE("a main effect, as old files have them, is called by its name") {
  auto about = test::found("async against pool, averaged over submission", verdict::slower,
                           {1.2, 1.1, 1.3}, {-0.5, -0.5, 0.5, 0.5});
  about.what = measure::contrast::kind::main_effect;
  CHECK(said(about) ==
        "async against pool, averaged over submission: slower by 20.0 % [10.0, 30.0]");
}

TEST_CASE("a contrast without two clear sides is called by its name") {
  CHECK(said(test::found("last against first", verdict::slower, {1.2, 1.1, 1.3})) ==
        "last against first: slower by 20.0 % [10.0, 30.0]");
  CHECK(said(test::found("c", verdict::slower, {1.2, 1.1, 1.3}, {-1, 1})) ==
        "c: slower by 20.0 % [10.0, 30.0]");
  CHECK(said(test::found("c", verdict::slower, {1.2, 1.1, 1.3}, {-1, 0.5, 0.5, 0})) ==
        "c: slower by 20.0 % [10.0, 30.0]");
  auto about = test::found("i", verdict::slower, {1.2, 1.1, 1.3});
  about.what = measure::contrast::kind::interaction;
  CHECK(said(about) == "i: the gaps differ by 20.0 % [10.0, 30.0]");
}
