// SPDX-License-Identifier: Apache-2.0
/// @file
/// `run_race`: a race over variants of any kind.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/subject_runner.hpp>
#include <assay/measure/validate.hpp>
#include <assay/race/procedure.hpp>
#include <assay/race/result.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::measure {
namespace detail {

/// Throws `std::invalid_argument` for candidates or options that cannot race, and for a race to
/// resume that had others.
inline void require_race(std::vector<variant> const& candidates, options const& chosen,
                         race_result const& before) {
  auto const count = candidates.size();
  require(count >= 2, "a race needs 2 candidates or more, not " + std::to_string(count));
  contrast first_two{"", contrast::kind::difference, std::vector<double>(count)};
  first_two.weights[0] = -1;
  first_two.weights[1] = 1;
  validate(candidates, {first_two}, chosen);
  if (before.racers.empty()) { return; }
  auto const had = before.racers.size();
  require(had == count, concat({"the race to resume has ", std::to_string(had), " candidates, not ",
                                std::to_string(count)}));
  for (std::size_t i = 0; i < count; ++i) {
    require(before.racers[i].name == candidates[i].label,
            concat({"candidate ", std::to_string(i + 1), " of the race to resume is \"",
                    before.racers[i].name, "\", not \"", candidates[i].label, "\""}));
  }
  require(before.alpha == chosen.alpha && before.margin == chosen.margin &&
              before.primary == chosen.clock.value_or(clock::wall),
          "a resumed race keeps its alpha, its margin and its clock");
}

/// A result without an epoch.
inline race_result fresh_race(std::vector<variant> const& candidates, options const& chosen) {
  race_result made;
  for (auto const& each : candidates) { made.racers.emplace_back().name = each.label; }
  made.title = chosen.title;
  made.margin = chosen.margin;
  made.alpha = chosen.alpha;
  made.primary = chosen.clock.value_or(clock::wall);
  made.seed = chosen.seed == 0 ? stats::draw_seed() : chosen.seed;
  return made;
}

}  // namespace detail

/// Runs a race over the variants, or goes on with `before`, which has the same ones.
///
/// - First each candidate is built and verified. One that fails or is wrong is taken out with its
///   reason. All others warm up together.
/// - Before the first epoch, a candidate is cut off if it takes more than twice as long as another
///   one, in each of four pairs of cells in alternating order. `alpha` does not cover these cuts.
/// - In each epoch, all candidates that are left are built anew and timed in rounds, in random
///   order. A candidate is dropped when the evidence suffices (`stats/elimination.hpp`).
/// - The race ends when no other can be faster than the leader by more than `options::margin`, or
///   when `max_epochs` or `max_seconds` are over. The last epoch verifies all that are left.
/// - `options::cancelled` ends the race too. Each result that is not decided can be resumed.
///
/// `hidden_control`, `run_until_sign` and `profiled_batches` have no meaning here.
template <class Clock = std::chrono::steady_clock>
race_result run_race(std::vector<variant> const& candidates, options const& chosen,
                     race_result before = {}) {
  detail::require_race(candidates, chosen, before);
  if (before.racers.empty()) { before = detail::fresh_race(candidates, chosen); }
  before.failure.clear();
  auto racing = chosen;
  racing.hidden_control = false;
  // Of the runner's steps only verification may be long.
  int epoch = 1;
  auto const tell = [&](int in, int of, std::string_view what) {
    epoch = in;
    if (chosen.progress) { chosen.progress(in, of, what); }
  };
  racing.progress = [&](int, int of, std::string_view what) {
    if (what.starts_with(detail::subject_runner::verifying)) { tell(epoch, of, what); }
  };
  return detail::race_procedure{candidates, racing, tell, std::move(before),
                                detail::seconds_of<Clock>}
      .run();
}

}  // namespace assay::measure

namespace assay {

using measure::run_race;

}  // namespace assay
