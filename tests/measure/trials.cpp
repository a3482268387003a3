// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counts of many comparisons with a known true difference.
#include "support/trials.hpp"
#include "catch.hpp"

#include <cmath>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::benchmark;

namespace {

measure::comparison one(measure::verdict outcome, double seconds) {
  measure::comparison made;
  measure::finding secondary;
  secondary.primary = false;
  measure::finding primary;
  primary.outcome = outcome;
  primary.reason = outcome == measure::verdict::unproven ? "the clock is coarse" : "";
  made.findings = {primary, secondary};
  made.epochs = 8;
  made.epoch_records.resize(10);
  made.seconds = seconds;
  return made;
}

}  // namespace

TEST_CASE("the upper bound of a rate is Clopper and Pearson's") {
  CHECK(clopper_pearson_upper(0, 100) == Approx(1 - std::pow(0.05, 0.01)).epsilon(1e-9));
  CHECK(clopper_pearson_upper(3, 3) == 1);
  // The most hits with which a rate is shown to be below 5 %.
  for (auto const& [trials, hits] :
       {std::pair{200, 4}, std::pair{500, 16}, std::pair{1000, 38}, std::pair{2000, 83}}) {
    CHECK(clopper_pearson_upper(hits, trials) <= 0.05);
    CHECK(clopper_pearson_upper(hits + 1, trials) > 0.05);
  }
}

TEST_CASE("a row has the verdict of the primary clock, and no number that JSON cannot hold") {
  auto const row = trial_of(one(measure::verdict::unproven, 2));
  CHECK(row["outcome"] == "UNPROVEN");
  CHECK(row["reason"] == "the clock is coarse");
  CHECK(row["epochs"] == 8);
  CHECK(row["dropped_epochs"] == 2);
  CHECK(row["high"].is_null());
  CHECK(row["launch_seconds"].is_null());
}

TEST_CASE("both signs are false alarms, and the other verdicts are none") {
  using measure::verdict;
  std::vector<trial> const all{
      trial_of(one(verdict::faster, 3)),       trial_of(one(verdict::slower, 1)),
      trial_of(one(verdict::equivalent, 2)),   trial_of(one(verdict::unproven, 5)),
      trial_of(one(verdict::inconclusive, 4)), trial_of(one(verdict::wrong_answer, 3))};
  auto const found = false_alarms_of("six", all);
  CHECK(found["trials"] == 6);
  CHECK(found["false_alarms"] == 2);
  CHECK(found["faster"] == 1);
  CHECK(found["slower"] == 1);
  CHECK(found["equivalent"] == 1);
  CHECK(found["inconclusive"] == 1);
  CHECK(found["unproven"] == 1);
  CHECK(found["wrong_answers"] == 1);
  CHECK(found["rate_upper_bound"].get<double>() == clopper_pearson_upper(2, 6));
  CHECK(found["median_seconds_per_verdict"] == 3);
  CHECK(found["max_seconds_per_verdict"] == 5);
  CHECK(found["rows"].size() == 6);
  CHECK(counts_of({})["trials"] == 0);
}
