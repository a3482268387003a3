// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to race.hpp: the statistics of a race, from the numbers of its result.
#pragma once

#include <assay/race/result.hpp>
#include <assay/stats/elimination.hpp>
#include <assay/stats/signed_rank.hpp>
#include <assay/stats/summary.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

namespace assay::measure {
namespace detail {

inline std::vector<double> logs(std::vector<double> values) {
  for (auto& each : values) { each = std::log(each); }
  return values;
}

/// The statistics after all epochs of a result. They follow from its numbers alone, so a race that
/// was read from a file goes on where it ended.
inline stats::elimination replayed(race_result const& of) {
  std::vector<double> guess;
  for (auto const& each : of.racers) {
    guess.push_back(each.out.empty() ? std::log(each.guess) : not_measured);
  }
  stats::elimination made{guess, of.alpha, of.margin};
  for (auto const& each : of.epochs) { made.add_epoch(logs(each.seconds)); }
  return made;
}

/// The share of timed seconds that dropping has saved. Measuring all of them as often as the winner
/// gives equal precision, and a candidate without an epoch would take its `guess`.
inline double cells_saved(race_result const& of) {
  double spent = 0;
  double all = 0;
  for (auto const& epoch : of.epochs) {
    for (std::size_t i = 0; i < of.racers.size(); ++i) {
      auto const& each = of.racers[i];
      double const usual = std::isfinite(each.seconds) ? each.seconds : each.guess;
      double const seconds = epoch.seconds[i];
      spent += std::isfinite(seconds) ? epoch.cells * seconds : 0;
      all += std::isfinite(seconds) ? epoch.cells * seconds
             : std::isfinite(usual) ? epoch.cells * usual
                                    : 0;
    }
  }
  return all > 0 ? 1 - spent / all : 0;
}

/// Fills in all that follows from the epochs.
inline void judge(race_result& of, stats::elimination const& by) {
  of.leader = by.left() == 0 || of.epochs.empty() ? -1 : static_cast<int>(by.leader());
  of.decided = of.leader >= 0 && by.decided();
  for (std::size_t i = 0; i < of.racers.size(); ++i) {
    auto& each = of.racers[i];
    each.survived = by.racing(i);
    each.bounded = each.survived && of.leader >= 0 && (i == by.leader() || by.bounded(i));
    each.slower = by.slower(i);
    each.faster = by.faster(i);
    std::vector<double> own;
    std::vector<double> lags;
    for (auto const& epoch : of.epochs) {
      if (!std::isfinite(epoch.seconds[i])) { continue; }
      own.push_back(epoch.seconds[i]);
      if (of.leader >= 0) { lags.push_back(std::log(own.back() / epoch.seconds[by.leader()])); }
    }
    constexpr int no_interval = -1;
    each.seconds = stats::summarise(own).median;
    each.ratio = lags.empty() ? not_measured
                              : std::exp(stats::signed_rank_interval(lags, no_interval).estimate);
  }
  of.cells_saved = cells_saved(of);
}

}  // namespace detail

}  // namespace assay::measure
