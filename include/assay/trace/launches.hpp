// SPDX-License-Identifier: Apache-2.0
/// @file
/// What launching costs: the calls, the delay until the work starts, and how much waits in queues.
#pragma once

#include <assay/trace/spread.hpp>
#include <assay/trace/view.hpp>
#include <assay/trace/work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace assay::trace {

/// The launches of kernels of one stream.
struct launch_use {
  stream_key stream;
  spread call;   ///< time in the launching call, ns
  spread delay;  ///< from the end of the call to the start of the kernel; negative where it started
                 ///< before the call returned
  std::int64_t shorter = 0;        ///< kernels that ran for less time than their call took
  std::int64_t deepest_queue = 0;  ///< most kernels handed over and not finished
  double mean_queue = 0;           ///< over time, from the first hand-over to the last end
};

namespace detail {

/// How many are open at most, and on average over the time from the first to the last step.
inline std::pair<std::int64_t, double> queue_depths(
    std::vector<std::pair<std::int64_t, int>> steps) {
  std::sort(steps.begin(), steps.end());  // at one moment, ends come before new ones
  std::int64_t depth = 0;
  std::int64_t deepest = 0;
  double area = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0) {
      area += static_cast<double>(depth) * static_cast<double>(steps[i].first - steps[i - 1].first);
    }
    depth += steps[i].second;
    deepest = std::max(deepest, depth);
  }
  if (steps.empty() || steps.back().first == steps.front().first) { return {deepest, 0.0}; }
  return {deepest, area / static_cast<double>(steps.back().first - steps.front().first)};
}

}  // namespace detail

/// Launches by stream. Kernels whose call is not in the trace are left out; the nodes of a graph
/// count as one launch, which starts with the first of them and ends with the last. O(n log n).
inline std::vector<launch_use> launches(view const& rows) {
  auto const& of = rows.of();
  call_index const calls{of};
  struct launched {
    row_index call;
    span when;
  };
  std::map<stream_key, std::vector<launched>> streams;
  for (auto const row : rows.kernels) {
    auto const& each = of.kernels[row];
    if (auto const call = calls.find(each.where); call != no_row) {
      streams[stream_of(each.where)].push_back({call, each.when});
    }
  }
  std::vector<launch_use> result;
  for (auto& [stream, all] : streams) {
    std::stable_sort(all.begin(), all.end(),
                     [](launched const& a, launched const& b) { return a.call < b.call; });
    std::vector<std::int64_t> taken, delays;
    std::vector<std::pair<std::int64_t, int>> steps;
    launch_use use;
    use.stream = stream;
    for (std::size_t i = 0; i < all.size();) {
      auto const& call = of.calls[all[i].call].when;
      auto when = all[i].when;
      std::int64_t ran = 0;
      for (auto const first = all[i].call; i < all.size() && all[i].call == first; ++i) {
        when.begin = std::min(when.begin, all[i].when.begin);
        when.end = std::max(when.end, all[i].when.end);
        ran += all[i].when.length();
      }
      taken.push_back(call.length());
      delays.push_back(when.begin - call.end);
      use.shorter += ran < call.length() ? 1 : 0;
      steps.emplace_back(std::min(call.end, when.begin), +1);
      steps.emplace_back(when.end, -1);
    }
    use.call = spread_of(std::move(taken));
    use.delay = spread_of(std::move(delays));
    auto const [deepest, mean] = detail::queue_depths(std::move(steps));
    use.deepest_queue = deepest;
    use.mean_queue = mean;
    result.push_back(use);
  }
  return result;
}

}  // namespace assay::trace
