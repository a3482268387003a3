// SPDX-License-Identifier: Apache-2.0
/// @file
/// The three questions of the null_cast experiment, answered from what was measured.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/report/format.hpp>
#include <assay/report/words.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace assay::examples {

/// Adds the answers to a comparison of two allocators, each with two modes: at once, and under one
/// mutex. The variants of the first allocator come first. A failed comparison gets no answers.
inline void answer_allocator_questions(measure::comparison& all) {
  if (all.variants.size() != 4 || !all.failure.empty()) { return; }
  using measure::clock;
  auto const tell = [&](measure::answer& into, std::string const& what,
                        std::vector<double> const& weights, clock on) {
    for (auto const& each : all.findings) {
      if (each.on != on || each.weights != weights) { continue; }
      into.lines.push_back(what + ": " + report::sentence(each, all));
    }
  };
  measure::answer gap{"Does the allocator change the gap between concurrent and mutex?", {}};
  tell(gap, "Time of a batch", {1, -1, -1, 1}, clock::wall);
  tell(gap, "Host time of an item", {1, -1, -1, 1}, clock::submit);
  tell(gap, "Host time of an item, first allocator", {-1, 1, 0, 0}, clock::submit);
  tell(gap, "Host time of an item, second allocator", {0, 0, -1, 1}, clock::submit);

  measure::answer submission{"How does dynamic allocation affect submission?", {}};
  tell(submission, "At once", {-1, 0, 1, 0}, clock::submit);
  tell(submission, "Under the mutex", {0, -1, 0, 1}, clock::submit);
  measure::answer patterns{"Do the allocation patterns differ?", {}};
  auto const& first = all.variants.front().memory;
  auto const as_first = [&](measure::variant_result const& each) {
    return each.memory && each.memory->allocations == first->allocations &&
           each.memory->deallocations == first->deallocations && each.memory->bytes == first->bytes;
  };
  if (first) {
    patterns.lines.push_back(
        std::ranges::all_of(all.variants, as_first)
            ? "As requests they are the same: " + report::count(first->allocations) +
                  " allocations and as many frees in a batch, " +
                  report::byte_size(static_cast<double>(first->bytes)) +
                  " in all; the table of memory has what stands behind them"
            : std::string{"As requests they differ: see the table of memory"});
  }
  all.answers = {gap, submission, patterns};
}

}  // namespace assay::examples
