// SPDX-License-Identifier: Apache-2.0
/// @file
/// `instances_without`: the instances of a range as steps of a run, without warm-ups.
#pragma once

#include <assay/nsys/select.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace assay::trace {

/// The instances of a range that are steps.
struct step_instances {
  std::vector<row_index> ranges;  ///< rows of `model::ranges`, by begin
  std::vector<view> rows;         ///< what each of these launched and did
  std::size_t found = 0;          ///< instances in the trace
  std::size_t skipped = 0;        ///< left out as warm-ups
  std::size_t cut = 0;            ///< left out: the recording ended before them
  std::size_t threads = 0;        ///< that the steps are of
};

/// The outermost instances of a range without the first `skip` of each process, and without those
/// that the recording cut off. Of more than `most`, as many are taken, spread evenly over the run.
inline step_instances instances_without(model const& of, row_filter const& by, std::size_t skip,
                                        std::size_t most) {
  auto const ranges = outermost_ranges(of, by);
  step_instances made;
  made.found = ranges.size();
  std::vector<std::size_t> order(ranges.size()), taken;
  for (std::size_t i = 0; i < order.size(); ++i) { order[i] = i; }
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return of.ranges[ranges[i]].when.begin; });
  std::map<std::uint32_t, std::size_t> seen;  // by process
  for (auto const i : order) {
    auto const& each = of.ranges[ranges[i]];
    if (++seen[each.thread.process] <= skip) {
      ++made.skipped;
    } else if (!each.ended) {
      ++made.cut;
    } else {
      taken.push_back(i);
    }
  }
  auto const count = std::min(most, taken.size());
  std::vector<std::size_t> part_of(ranges.size(), count);  // `count`: in no part
  std::set<thread_key> threads;
  for (std::size_t part = 0; part < count; ++part) {
    auto const i = taken[part * taken.size() / count];
    part_of[i] = part;
    made.ranges.push_back(ranges[i]);
    threads.insert(of.ranges[ranges[i]].thread);
  }
  made.threads = threads.size();
  made.rows = detail::parts_of(of, by, ranges, part_of, count);
  return made;
}

}  // namespace assay::trace
