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
  auto found = false_alarms_of(run_on ? "run on" : "stop rule", all);
  found["stop_rule"] = run_on ? "run on to the last look unless different" : "as users have it";
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
