// SPDX-License-Identifier: Apache-2.0
// How often does a comparison of a kernel with itself say "different"? A copy of about 100 us,
// 1,000 times with the stop rule as users have it, and 60 times run on to the last look. The same
// samples are judged by the rules of others. Predicts: at most 38 false alarms of 1,000, so that
// the rate is below 5 % at 95 % confidence.

#include "support/calibration.cuh"

namespace {

using namespace assay;
using namespace assay::benchmark;

report::document compare_with_itself(on::device place, std::size_t count, int trials, bool run_on) {
  std::vector<trial> all;
  for (int i = 0; i < trials; ++i) {
    all.push_back(compare_copies(place, count, count, run_on));
    if ((i + 1) % 100 == 0) { std::fprintf(stderr, "%d of %d\n", i + 1, trials); }
  }
  int const alarms = static_cast<int>(std::ranges::count_if(all, says_different));
  int const vetoed =
      static_cast<int>(std::ranges::count(all, measure::verdict::unproven, &trial::outcome));
  std::vector<double> seconds;
  std::vector<double> half_widths;
  for (auto const& one : all) {
    seconds.push_back(one.seconds);
    half_widths.push_back(std::log(one.effect.high / one.effect.low) / 2);
  }
  report::document found;
  found["stop_rule"] = run_on ? "run on to the last look unless different" : "as users have it";
  found["trials"] = trials;
  found["false_alarms"] = alarms;
  found["unproven"] = vetoed;
  found["rate_upper_bound"] = clopper_pearson_upper(alarms, trials);
  found["median_half_width"] = median_of(half_widths);
  found["median_seconds_per_verdict"] = median_of(seconds);
  found["max_seconds_per_verdict"] = std::ranges::max(seconds);
  found["false_alarm_rate_of_other_rules_on_the_same_cells"] = other_rules(all);
  // As most people measure: all of one, then all of the other. Both halves are of the control.
  std::vector<trial> halves;
  for (auto const& one : all) {
    auto const middle = one.control.begin() + static_cast<std::ptrdiff_t>(one.control.size() / 2);
    trial half = one;
    half.control.assign(one.control.begin(), middle);
    half.variant.assign(middle, one.control.end());
    halves.push_back(std::move(half));
  }
  found["false_alarm_rate_of_other_rules_first_half_against_second"] = other_rules(halves);
  found["rows"] = rows_of(all);
  std::printf(
      "%s: %d false alarms of %d (at most %.2f %%), %d unproven, %.2f s a verdict, "
      "half-width %.3f %%\n",
      run_on ? "run on" : "stop rule", alarms, trials, 100 * clopper_pearson_upper(alarms, trials),
      vetoed, median_of(seconds), 100 * median_of(half_widths));
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(
      argc, argv, "false_alarms", [](options const& chosen, report::document& figures) {
        auto const count = vectors_for(chosen.place, 100e-6);
        int const scale = chosen.quick ? 50 : 1;
        figures["kernel"] = "copy of 100 us";
        figures["bytes"] = 32.0 * static_cast<double>(count);
        figures["as_used"] = compare_with_itself(chosen.place, count, 1000 / scale, false);
        figures["run_on"] =
            compare_with_itself(chosen.place, count, 60 / std::min(scale, 10), true);
      });
}
