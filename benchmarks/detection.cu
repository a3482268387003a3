// SPDX-License-Identifier: Apache-2.0
// How small a slow-down does a comparison find? A copy of about 100 us against a copy that moves x
// % more: real work, whose true cost is measured apart, by long runs in random order. 200 trials
// for each x. Predicts: 0.5 % is found in at least 90 % of the trials, and 95 % of the intervals
// hold the truth.

#include "support/calibration.cuh"

#include <cmath>
#include <random>

namespace {

using namespace assay;
using namespace assay::benchmark;

/// The slow-down on one pair of buffers: cells as those of a comparison (five launches, queued
/// behind two others), in random order, since what comes after what moves a ratio by a tenth of a
/// percent.
double slow_down_on(copy_buffers const& buffers, std::size_t count, std::size_t slower,
                    std::mt19937_64& random) {
  stream const where{buffers.place()};
  event begin{event::kind::timed};
  event end{event::kind::timed};
  auto const launch = [&](std::size_t vectors, int times) {
    for (int i = 0; i < times; ++i) {
      over_vectors(benchmark::kernel::copy_vectors<uint4>, buffers.place(), where, vectors,
                   static_cast<uint4 const*>(buffers.from()), buffers.to(), vectors);
    }
  };
  std::array<double, 2> seconds{};
  launch(count, 20);  // until the device has cleared what the last pair freed
  for (int round = 0; round < 25; ++round) {
    std::array<std::size_t, 4> order{0, 0, 1, 1};
    std::ranges::shuffle(order, random);
    for (auto const which : order) {
      auto const vectors = which == 0 ? count : slower;
      launch(vectors, 2);
      begin.record(where);
      launch(vectors, 5);
      end.record(where);
      where.synchronize();
      seconds[which] += end.seconds_since(begin);
    }
  }
  return seconds[1] / seconds[0] - 1;
}

struct true_slow_down {
  double mean = 0;
  double standard_error = 0;
};

/// The slow-down, measured without anything that compares: on many pairs of buffers, as a trial has
/// new ones in each epoch, because where they lie moves that of a single pair by a tenth of a
/// percent too. Half before and half after `meanwhile()`.
template <class Call>
true_slow_down measured_apart(on::device place, std::size_t count, std::size_t slower,
                              Call&& meanwhile) {
  constexpr int pairs = 64;
  std::mt19937_64 random{12345};
  std::vector<double> found;
  for (int pair = 0; pair < pairs; ++pair) {
    if (pair == pairs / 2) { meanwhile(); }
    found.push_back(slow_down_on({place, slower, random()}, count, slower, random));
  }
  true_slow_down truth;
  for (double const one : found) { truth.mean += one / pairs; }
  double squares = 0;
  for (double const one : found) { squares += (one - truth.mean) * (one - truth.mean); }
  truth.standard_error = std::sqrt(squares / (pairs - 1) / pairs);
  return truth;
}

report::document find_slow_down(on::device place, std::size_t count, double share, int trials) {
  auto const slower = static_cast<std::size_t>(static_cast<double>(count) * (1 + share));
  std::vector<trial> all;
  auto const truth = measured_apart(place, count, slower, [&] {
    for (int i = 0; i < trials; ++i) { all.push_back(compare_copies(place, count, slower, true)); }
  });

  int found_slower = 0;
  int covered = 0;
  std::vector<double> ratios, seconds;
  for (auto const& one : all) {
    found_slower += one.outcome == measure::verdict::slower ? 1 : 0;
    covered += one.effect.low <= 1 + truth.mean && 1 + truth.mean <= one.effect.high ? 1 : 0;
    ratios.push_back(one.effect.ratio);
    seconds.push_back(one.seconds);
  }
  auto const rate = [&](int hits) { return static_cast<double>(hits) / trials; };
  auto const estimate = measure::summarise(ratios).median - 1;
  auto const verdict_seconds = measure::summarise(seconds).median;
  report::document row;
  row["extra_work"] = share;
  row["true_slow_down"] = truth.mean;
  row["true_slow_down_standard_error"] = truth.standard_error;
  row["trials"] = trials;
  row["found_slower"] = rate(found_slower);
  row["found_slower_lower_bound"] = 1 - clopper_pearson_upper(trials - found_slower, trials);
  row["median_estimate"] = estimate;
  row["bias"] = estimate - truth.mean;
  row["coverage"] = rate(covered);
  row["median_seconds_per_verdict"] = verdict_seconds;
  row["found_by_other_rules_on_the_same_cells"] = other_rules(all);
  row["rows"] = rows_of(all);
  std::printf(
      "%.2f %% more work: truth %+.3f %% +- %.3f, found in %.1f %% of %d, estimate %+.3f %%, "
      "coverage %.1f %%, %.2f s a verdict\n",
      100 * share, 100 * truth.mean, 100 * truth.standard_error, 100 * rate(found_slower), trials,
      100 * estimate, 100 * rate(covered), verdict_seconds);
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
        auto const nothing = measured_apart(chosen.place, count, count, [] {});
        figures["true_slow_down_of_no_more_work"] = nothing.mean;
        figures["true_slow_down_of_no_more_work_standard_error"] = nothing.standard_error;
        std::printf("no more work: truth %+.3f %% +- %.3f\n", 100 * nothing.mean,
                    100 * nothing.standard_error);
        // The smallest in question first; what is below and far above it, for the curve, last.
        for (double const share : {0.005, 0.01, 0.02, 0.05, 0.0025}) {
          int const trials = share == 0.0025 ? 60 : 200;  // below the target, for the curve
          figures["slow_downs"].push_back(
              find_slow_down(chosen.place, count, share, chosen.quick ? trials / 20 : trials));
          chosen.save(figures);
        }
      });
}
