// assay-grouped: no, since its headers add a second namespace kernel
// SPDX-License-Identifier: Apache-2.0
// How small a slow-down does a comparison find? A copy is held against a copy of x % more elements.
// Long runs in random order measure the true cost of those elements apart. 0.3 % of 40 us and 0.2 %
// of 200 us, 100 comparisons each. --processes: 1 % between two processes of this program, as
// between two builds, 30 comparisons. A later run continues the file that --json names.
// Predicts: each is found in at least 90 %, and 95 % of the intervals hold the truth.

#include "support/calibration.cuh"
#include "support/resumable_trials.hpp"
#include "support/served_copy.cuh"

#include <assay/core/stream.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace assay::benchmark {
namespace {

/// A copy that takes about so long, against one that copies `share` more.
struct slow_down {
  std::string name;
  double seconds;
  double share;
  std::size_t count = 0;  ///< vectors of the control

  std::size_t slower() const {
    return static_cast<std::size_t>(static_cast<double>(count) * (1 + share));
  }
};

/// The slow-down on one pair of buffers, in cells like those of a comparison: launches that fill a
/// millisecond, queued behind two others. The order is random, because the cell before moves a
/// ratio by a tenth of a percent.
double slow_down_on(on::device place, slow_down const& of, std::mt19937_64& random) {
  stream const where{place};
  auto own = own_arrays(place, where, random());
  copy_arrays const arrays{own, of.slower()};
  event begin{event::kind::timed};
  event end{event::kind::timed};
  auto const launch = [&](std::size_t vectors, int times) {
    for (int i = 0; i < times; ++i) {
      enqueue_copy(place, where.get(), arrays.from(), arrays.to(), vectors);
    }
  };
  auto const launches = static_cast<int>(std::ceil(1e-3 / of.seconds));
  std::array<double, 2> seconds{};
  launch(of.count, 20);  // until the device has cleared what the last pair freed
  for (int round = 0; round < 25; ++round) {
    std::array<std::size_t, 4> order{0, 0, 1, 1};
    std::ranges::shuffle(order, random);
    for (auto const which : order) {
      auto const vectors = which == 0 ? of.count : of.slower();
      launch(vectors, 2);
      begin.record(where);
      launch(vectors, launches);
      end.record(where);
      where.synchronize();
      seconds[which] += end.seconds_since(begin);
    }
  }
  return seconds[1] / seconds[0] - 1;
}

/// Adds the slow-downs on 32 more pairs of buffers to `found`. A comparison has new buffers in each
/// epoch, because their addresses move the slow-down of one pair by a tenth of a percent.
void measure_apart(on::device place, slow_down const& of, report::document& found) {
  std::mt19937_64 random{std::random_device{}()};
  for (int pair = 0; pair < 32; ++pair) { found.push_back(slow_down_on(place, of, random)); }
}

/// Reports one slow-down: found with the right sign, and intervals that hold the truth.
report::document row_of(slow_down const& of, std::vector<trial> const& trials,
                        std::vector<double> const& apart) {
  auto const pairs = static_cast<double>(apart.size());
  double truth = 0, squares = 0;
  for (double const one : apart) { truth += one / pairs; }
  for (double const one : apart) { squares += (one - truth) * (one - truth); }
  int covered = 0;
  for (auto const& each : trials) {
    bool const bounded = !each.at("low").is_null() && !each.at("high").is_null();
    covered += bounded && each.at("low") <= 1 + truth && 1 + truth <= each.at("high") ? 1 : 0;
  }
  auto const count = static_cast<int>(trials.size());
  auto const found = count_of(trials, measure::verdict::slower);
  auto row = counts_of(trials);
  row.erase("false_alarms");
  row.erase("rate_upper_bound");
  row["name"] = of.name;
  row["extra_work"] = of.share;
  row["vectors"] = of.count;
  row["found"] = found;
  row["found_slower"] = finite(static_cast<double>(found) / count);
  row["found_slower_lower_bound"] = 1 - clopper_pearson_upper(count - found, count);
  if (apart.size() > 1) {
    row["true_slow_down"] = truth;
    row["true_slow_down_standard_error"] = std::sqrt(squares / (pairs - 1) / pairs);
    row["coverage"] = finite(static_cast<double>(covered) / count);
  }
  auto const estimate = stats::summarise(column(trials, "ratio")).median - 1;
  row["median_estimate"] = finite(estimate);
  std::printf(
      "%s: %.2f %% more work, truth %+.3f %%; found in %d of %d, estimate %+.3f %%, "
      "truth in %d intervals, %.2f s a verdict\n",
      of.name.c_str(), 100 * of.share, 100 * truth, found, count, 100 * estimate, covered,
      stats::summarise(column(trials, "seconds")).median);
  std::fflush(stdout);
  return row;
}

measure::comparison compare_factories(on::device place, slow_down const& of) {
  measure::options chosen;
  chosen.place = place;
  chosen.run_until_sign = true;
  // One page of 2 MiB more in the arrays is worth 0.15 % of a copy of 200 us (an H200), and is no
  // slow-down of the copy. So all arrays have one size.
  auto const copying = [&](std::size_t count) { return copy_of(place, count, false, of.slower()); };
  return compare("control", copying(of.count), "variant", copying(of.slower()), chosen);
}

std::vector<trial_kind> kinds_of(on::device const& place, std::vector<slow_down> const& all,
                                 bool processes) {
  std::vector<trial_kind> kinds;
  for (auto const& each : all) {
    kinds.push_back({each.name,
                     {processes ? "process" : "factory"},
                     [&place, &each, processes](std::string const&) {
                       return processes ? compare_processes(place, each.count, each.slower())
                                        : compare_factories(place, each);
                     }});
  }
  return kinds;
}

}  // namespace
}  // namespace assay::benchmark

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::benchmark;
  if (argc > 1 && std::string_view{argv[1]} == "--serve") {
    try {
      return serve_copy(argc, argv);
    } catch (std::exception const& error) {
      std::fprintf(stderr, "error: %s\n", error.what());
      return 4;
    }
  }
  on::device place;
  std::vector<slow_down> all{{"copy_40us", 40e-6, 0.003}, {"copy_200us", 200e-6, 0.002}};
  std::vector<slow_down> builds{{"copy_100us_two_builds", 100e-6, 0.01}};
  bool processes = false;
  if (lists_kinds(argc, argv, kinds_of(place, all, false))) { return 0; }
  trial_plan plan;
  auto more = plan.options();
  more.push_back(
      {"--processes", "[N]", "N comparisons (30) of two processes", [&](std::string const& text) {
         processes = true;
         plan.count = text.empty() ? 30 : trial_plan::positive(text);
       }});
  return benchmark::run(
      argc, argv, "detection",
      [&](benchmark::options const& chosen, report::document& figures) {
        place = chosen.place;
        if (chosen.quick) { plan.count = 2; }
        std::string const section = processes ? "builds" : "slow_downs";
        resumable_trials trials{chosen, plan, figures};
        auto& asked = processes ? builds : all;
        for (auto& each : asked) {
          auto& known = figures[section]["vectors"][each.name];
          if (known.is_null()) { known = vectors_for(place, each.seconds); }
          each.count = known;
          measure_apart(place, each, figures[section]["apart"][each.name]);
        }
        trials.run(section, kinds_of(place, asked, processes));
        figures[section]["found"] = report::document::array();
        for (auto const& each : asked) {
          auto& apart = figures[section]["apart"][each.name];
          measure_apart(place, each, apart);
          figures[section]["found"].push_back(
              row_of(each, trials.rows(section, each.name), apart.get<std::vector<double>>()));
        }
      },
      more);
}
