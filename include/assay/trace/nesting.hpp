// SPDX-License-Identifier: Apache-2.0
/// @file
/// `nest`: the tree of the ranges of each thread.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace assay::trace {

/// The place of a range in the tree of its thread.
struct nested_range {
  row_index row = no_row;
  std::uint32_t parent = no_row;  ///< index of the parent in the list; `no_row` at the top
  std::uint32_t level = 0;        ///< 0 at the top
  std::uint32_t children = 0;     ///< direct ones
  std::int64_t child_ns = 0;      ///< summed time of the direct children
};

/// The push/pop ranges of a trace, ordered by begin; of two that begin together the longer comes
/// first. A range's parent is the latest range of its thread, in any domain, that contains it.
/// Ranges that only overlap are not related. O(n log n).
inline std::vector<nested_range> nest(model const& of) {
  std::vector<nested_range> all;
  for (row_index row = 0; row < of.ranges.size(); ++row) {
    if (of.ranges[row].style == range_style::push_pop) { all.push_back({.row = row}); }
  }
  std::sort(all.begin(), all.end(), [&](nested_range const& a, nested_range const& b) {
    auto const& x = of.ranges[a.row];
    auto const& y = of.ranges[b.row];
    return std::tuple{x.when.begin, y.when.end, x.thread, a.row} <
           std::tuple{y.when.begin, x.when.end, y.thread, b.row};
  });
  std::vector<std::uint32_t> by_thread(all.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) { by_thread[i] = i; }
  std::stable_sort(by_thread.begin(), by_thread.end(), [&](std::uint32_t a, std::uint32_t b) {
    return of.ranges[all[a].row].thread < of.ranges[all[b].row].thread;
  });
  // Ends fall from the bottom of the stack to its top: a range that ends before the new one
  // contains neither the new one nor a later one.
  std::vector<std::uint32_t> open;
  for (std::size_t i = 0; i < by_thread.size(); ++i) {
    auto& each = all[by_thread[i]];
    auto const& range = of.ranges[each.row];
    if (i > 0 && of.ranges[all[by_thread[i - 1]].row].thread != range.thread) { open.clear(); }
    if (range.when.end < range.when.begin) { continue; }  // the clock was set back: not related
    while (!open.empty() && of.ranges[all[open.back()].row].when.end < range.when.end) {
      open.pop_back();
    }
    if (!open.empty()) {
      auto& parent = all[open.back()];
      each.parent = open.back();
      each.level = parent.level + 1;
      ++parent.children;
      parent.child_ns += range.when.length();
    }
    open.push_back(by_thread[i]);
  }
  return all;
}

}  // namespace assay::trace
