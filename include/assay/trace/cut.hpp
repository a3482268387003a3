// SPDX-License-Identifier: Apache-2.0
/// @file
/// `cut_before`: takes what came before a moment out of a trace.
#pragma once

#include <assay/trace/model.hpp>

#include <cstdint>
#include <vector>

namespace assay::trace {

/// Leaves the rows that begin at `at_ns` (since the trace's epoch) or later, and a window that
/// begins with it. What is known of devices, threads and losses stays as it was of all.
inline void cut_before(model& of, std::int64_t at_ns) {
  auto const spans = [&](auto& rows) {
    std::erase_if(rows, [&](auto const& row) { return row.when.begin < at_ns; });
  };
  auto const moments = [&](auto& rows) {
    std::erase_if(rows, [&](auto const& row) { return row.at < at_ns; });
  };
  spans(of.kernels);
  spans(of.copies);
  spans(of.sets);
  spans(of.graph_launches);
  spans(of.calls);
  spans(of.synchronizations);
  spans(of.ranges);
  spans(of.overheads);
  moments(of.memory);
  moments(of.counters);
  of.window.begin = at_ns;
}

}  // namespace assay::trace
