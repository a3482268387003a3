// SPDX-License-Identifier: Apache-2.0
/// @file
/// What benchmarks make of many comparisons whose truth is known.
#include "support/trials.hpp"
#include "catch.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::benchmark;

namespace {

trial one(measure::verdict outcome, double half_width, double seconds) {
  trial made;
  made.outcome = outcome;
  made.effect = {1, std::exp(-half_width), std::exp(half_width)};
  made.epochs = 8;
  made.seconds = seconds;
  made.control = std::vector<double>(40, 1.0);
  made.variant = made.control;
  made.control[1] = 1.001;
  made.variant[2] = 1.001;
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

TEST_CASE("both signs are alarms, and what is unproven or undecided is none") {
  std::vector<trial> const all{
      one(measure::verdict::faster, 0.01, 3), one(measure::verdict::slower, 0.02, 1),
      one(measure::verdict::equivalent, 0.03, 2), one(measure::verdict::unproven, 0.04, 5),
      one(measure::verdict::inconclusive, 0.05, 4)};
  auto const found = false_alarms_of("five", all);
  CHECK(found["trials"] == 5);
  CHECK(found["false_alarms"] == 2);
  CHECK(found["unproven"] == 1);
  CHECK(found["rate_upper_bound"].get<double>() == clopper_pearson_upper(2, 5));
  CHECK(found["median_half_width"].get<double>() == Approx(0.03));
  CHECK(found["median_seconds_per_verdict"] == 3);
  CHECK(found["max_seconds_per_verdict"] == 5);
  CHECK(found["rows"].size() == 5);
  CHECK(found["rows"][3][0] == "UNPROVEN");
  CHECK(found["false_alarm_rate_of_other_rules_on_the_same_cells"]["Welch t"] == 0);
}

TEST_CASE("a comparison that failed is no trial") {
  measure::comparison failed;
  failed.failure = "variant \"control\", epoch 1, timing: out of memory";
  CHECK_THROWS_AS(trial_of(failed), std::runtime_error);
}
