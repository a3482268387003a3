// SPDX-License-Identifier: Apache-2.0
/// @file
/// `race_result`: the result of a race as plain data, and what follows from it.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/stats/elimination.hpp>
#include <assay/stats/signed_rank.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {
namespace detail {

inline constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

}  // namespace detail

/// Names and values that tell one candidate from the others: `block`, 256.
using constants = std::vector<std::pair<std::string, long long>>;
/// Names and texts that do the same: `way`, "tiles".
using constant_texts = std::vector<std::pair<std::string, std::string>>;

/// One candidate of a race, and what became of it.
struct racer {
  std::string name;
  measure::constants constants;  ///< of a space of parameters; else none
  constant_texts texts{};        ///< the same for parameters of texts
  std::string out;               ///< why it was taken out; empty for those judged by their times
  double guess = detail::not_measured;    ///< seconds of a launch before the first epoch
  double seconds = detail::not_measured;  ///< median of a launch over epochs; NaN without an epoch
  double ratio = detail::not_measured;    ///< to the winner, over their common epochs
  int slower = 0, faster = 0;  ///< epochs in which it was slower or faster than the leader
  bool survived = false;       ///< not dropped, and not taken out
  bool bounded = false;        ///< it survived, and is not faster than the winner by the margin

  /// The names of its constants and texts.
  std::vector<std::string> parameters() const {
    std::vector<std::string> names;
    for (auto const& each : constants) { names.push_back(each.first); }
    for (auto const& each : texts) { names.push_back(each.first); }
    return names;
  }
};

/// One epoch: the cells of each candidate, and seconds per launch, NaN for those not measured.
struct race_epoch {
  int cells = 0;
  std::vector<double> seconds;
};

/// The result of `race`.
struct race_result {
  static constexpr int schema_version = 1;
  std::string title;
  std::vector<racer> racers;  ///< in the order in which they were given
  int leader = -1;            ///< the winner's index; -1 where no candidate could be measured
  /// No other candidate is faster than the winner by more than the margin, with probability
  /// 1 - alpha. If false, time or epochs ran out.
  bool decided = false;
  std::string failure;  ///< the cause of an early end; else empty
  double margin = 0.01, alpha = 0.05;
  double cells_saved = 0;  ///< share of the timed seconds of measuring all as often as the winner
  std::uint64_t seed = 0;
  double seconds = 0;  ///< duration, over all runs of a resumed race
  int launches = 0;    ///< of a cell; 0 before the first epoch
  int begun = 0;       ///< epochs begun, dropped and void ones included
  clock primary = clock::wall;
  environment where;
  std::vector<std::string> notes;
  std::vector<race_epoch> epochs;

  /// The name of the winner: the sole survivor, or the one that leads the survivors.
  /// Throws `std::runtime_error` where no candidate could be measured.
  std::string const& winner() const { return best().name; }
  racer const& best() const {
    if (leader >= 0) { return racers[static_cast<std::size_t>(leader)]; }
    throw std::runtime_error("the race has no winner: " +
                             (failure.empty() ? "no epoch was run" : failure));
  }

  /// The names of those that were not dropped, the winner first.
  std::vector<std::string> survivors() const {
    std::vector<std::string> names;
    for (auto const i : order()) {
      if (racers[i].survived) { names.push_back(racers[i].name); }
    }
    return names;
  }

  /// Indices: the winner, the other survivors, those dropped, those never measured; each group by
  /// its ratio to the winner.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> all(racers.size());
    for (std::size_t i = 0; i < all.size(); ++i) { all[i] = i; }
    auto const key = [&](std::size_t i) {
      auto const& each = racers[i];
      int const group = static_cast<int>(i) == leader ? 0
                        : each.survived               ? 1
                        : each.out.empty()            ? 2
                                                      : 3;
      return std::pair{group, std::isfinite(each.ratio) ? each.ratio : 1e300};
    };
    std::stable_sort(all.begin(), all.end(), [&](auto a, auto b) { return key(a) < key(b); });
    return all;
  }
};

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

namespace assay {

using measure::race_result;

}  // namespace assay
