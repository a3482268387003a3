// SPDX-License-Identifier: Apache-2.0
/// @file
/// `race(ranks, ...)`: the best of many for all ranks of a world.
#pragma once

#include <assay/race.hpp>
#include <assay/race/by_size.hpp>
#include <assay/race/result.hpp>
#include <assay/race/run_race.hpp>
#include <assay/serve/measure_together.hpp>
#include <assay/world/world.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace assay {
namespace measure {
namespace served {

void parts(auto& visit, racer& of) {
  visit(of.name, of.out, of.guess, of.seconds, of.ratio, of.slower, of.faster, of.survived,
        of.bounded);
}
void parts(auto& visit, race_epoch& of) { visit(of.cells, of.seconds); }
void parts(auto& visit, race_result& of) {
  visit(of.title, of.racers, of.leader, of.decided, of.failure, of.margin, of.alpha, of.cells_saved,
        of.seed, of.seconds, of.launches, of.begun, of.primary, of.notes, of.epochs);
}

}  // namespace served

/// Races variants on all ranks: rank 0 decides, and all ranks have its result, times and epochs
/// among it. A race that goes on is that of rank 0.
inline race_result race_together(world const& all, std::vector<variant> const& candidates,
                                 options const& chosen, race_result before = {}) {
  return together<race_result>(
      all, candidates, chosen,
      [&](std::vector<variant> const& ranked, options const& hooked, served::leader& by) {
        auto made = run_race(ranked, hooked, std::move(before));
        made.notes.push_back(together_note(all, chosen));
        for (auto& each : by.times().notes()) { made.notes.push_back(std::move(each)); }
        return made;
      });
}

}  // namespace measure

/// Finds the best of many on all ranks together; see `race` of <assay/race.hpp>. All ranks call it
/// with the same candidates in the same order, and have the same result.
inline race_result race(world const& all, std::vector<candidate> const& candidates,
                        options chosen = {}, race_result before = {}) {
  return measure::race_by(candidates, std::move(chosen), std::move(before),
                          [&](auto const& variants, options const& watched, race_result so_far) {
                            return measure::race_together(all, variants, watched,
                                                          std::move(so_far));
                          });
}

/// Finds the best candidate for each size on all ranks together: one table, equal on all of them.
template <class Make>
measure::size_table race_by_size(world const& all, std::vector<std::size_t> const& sizes, Make make,
                                 options const& chosen = {}) {
  return measure::tabulated(sizes, [&](std::size_t size) { return race(all, make(size), chosen); });
}

}  // namespace assay
