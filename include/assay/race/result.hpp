// SPDX-License-Identifier: Apache-2.0
/// @file
/// `race_result`: the result of a race as plain data, and what follows from it.
#pragma once

#include <assay/machine/environment.hpp>
#include <assay/measure/comparison.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
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
  std::vector<std::string> parameters() const;
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
  machine::environment where;
  std::vector<std::string> notes;
  std::vector<race_epoch> epochs;

  /// The name of the winner: the sole survivor, or the one that leads the survivors.
  /// Throws `std::runtime_error` where no candidate could be measured.
  std::string const& winner() const;
  racer const& best() const;

  /// The names of those that were not dropped, the winner first.
  std::vector<std::string> survivors() const;

  /// Indices: the winner, the other survivors, those dropped, those never measured; each group by
  /// its ratio to the winner.
  std::vector<std::size_t> order() const;
};

/// Prints the race as text.
std::ostream& operator<<(std::ostream& out, race_result const& of);

}  // namespace assay::measure

namespace assay::report {

/// The winner in one sentence, a line for each of at most `lines` candidates in their order, and a
/// line on the effort.
std::string race_text(measure::race_result const& of, std::size_t lines = 12);

/// A header with the winner's name and constants, in a namespace of this name, and with the
/// evidence in its comment. Throws `std::invalid_argument` for names that C++ does not allow.
std::string race_header(measure::race_result const& of, std::string const& in = "tuning");

}  // namespace assay::report

namespace assay {

using measure::race_result;

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/race/result_definitions.hpp>
#endif
