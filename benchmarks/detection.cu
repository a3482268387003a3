// SPDX-License-Identifier: Apache-2.0
// How small a slow-down does a comparison find? A copy of about 100 us against a copy that moves x
// % more: real work, whose true cost is measured apart, by long alternating runs. 200 trials for
// each x. Predicts: 0.5 % is found in at least 90 % of the trials, and 95 % of the intervals hold
// the truth.

#include "support/calibration.cuh"

namespace {

using namespace assay;
using namespace assay::benchmark;

/// The times of two copies added up over `rounds` rounds of ABBA, ten launches at a time.
std::array<double, 2> alternate(on::device place, std::size_t count, std::size_t slower, int rounds,
                                std::uint64_t seed) {
  copy_buffers const buffers{place, slower, seed};
  stream const where{place};
  std::array<event, 5> marks{event{event::kind::timed}, event{event::kind::timed},
                             event{event::kind::timed}, event{event::kind::timed},
                             event{event::kind::timed}};
  auto const burst = [&](std::size_t vectors) {
    for (int i = 0; i < 10; ++i) {
      over_vectors(benchmark::kernel::copy_vectors<uint4>, place, where, vectors,
                   static_cast<uint4 const*>(buffers.from()), buffers.to(), vectors);
    }
  };
  double a = 0;
  double b = 0;
  for (int round = 0; round < rounds; ++round) {
    burst(count);  // wash-out, so that no burst begins on an idle device
    for (int k = 0; k < 4; ++k) {
      marks[static_cast<std::size_t>(k)].record(where);
      burst(k == 0 || k == 3 ? count : slower);
    }
    marks[4].record(where);
    where.synchronize();
    a += marks[1].seconds_since(marks[0]) + marks[4].seconds_since(marks[3]);
    b += marks[3].seconds_since(marks[1]);
  }
  return {a, b};
}

/// The ratio of times of two copies. Over several pairs of buffers, as a trial has new ones in each
/// epoch: where they lie moves the ratio of a single pair by a tenth of a percent.
double true_ratio(on::device place, std::size_t count, std::size_t slower) {
  std::array<double, 2> total{};
  for (std::uint64_t pair = 0; pair < 16; ++pair) {
    auto const seconds = alternate(place, count, slower, 25, 12345 + pair);
    total[0] += seconds[0];
    total[1] += seconds[1];
  }
  return total[1] / total[0];
}

report::document find_slow_down(on::device place, std::size_t count, double share, int trials) {
  auto const slower = static_cast<std::size_t>(static_cast<double>(count) * (1 + share));
  double const before = true_ratio(place, count, slower);
  std::vector<trial> all;
  for (int i = 0; i < trials; ++i) { all.push_back(compare_copies(place, count, slower, true)); }
  double const truth = std::sqrt(before * true_ratio(place, count, slower));

  int found_slower = 0;
  int covered = 0;
  std::vector<double> ratios, seconds;
  for (auto const& one : all) {
    found_slower += one.outcome == measure::verdict::slower ? 1 : 0;
    covered += one.effect.low <= truth && truth <= one.effect.high ? 1 : 0;
    ratios.push_back(one.effect.ratio);
    seconds.push_back(one.seconds);
  }
  auto const rate = [&](int hits) { return static_cast<double>(hits) / trials; };
  report::document row;
  row["extra_work"] = share;
  row["true_slow_down"] = truth - 1;
  row["trials"] = trials;
  row["found_slower"] = rate(found_slower);
  row["found_slower_lower_bound"] = 1 - clopper_pearson_upper(trials - found_slower, trials);
  row["median_estimate"] = median_of(ratios) - 1;
  row["bias"] = median_of(ratios) - truth;
  row["coverage"] = rate(covered);
  row["median_seconds_per_verdict"] = median_of(seconds);
  row["found_by_other_rules_on_the_same_cells"] = other_rules(all);
  row["rows"] = rows_of(all);
  std::printf(
      "%.1f %% more work: truth %+.3f %%, found in %.1f %% of %d, estimate %+.3f %%, "
      "coverage %.1f %%, %.2f s a verdict\n",
      100 * share, 100 * (truth - 1), 100 * rate(found_slower), trials,
      100 * (median_of(ratios) - 1), 100 * rate(covered), median_of(seconds));
  std::fflush(stdout);
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(
      argc, argv, "detection", [](options const& chosen, report::document& figures) {
        auto const count = vectors_for(chosen.place, 100e-6);
        figures["kernel"] = "copy of 100 us";
        figures["bytes"] = 32.0 * static_cast<double>(count);
        // The smallest in question first; what is below and far above it, for the curve, last.
        for (double const share : {0.005, 0.01, 0.02, 0.05, 0.0025}) {
          int const trials = share == 0.0025 ? 60 : 200;  // below the target, for the curve
          figures["slow_downs"].push_back(
              find_slow_down(chosen.place, count, share, chosen.quick ? trials / 20 : trials));
          chosen.save(figures);
        }
      });
}
