// SPDX-License-Identifier: Apache-2.0
/// @file
/// `launch_latency`: the cost of launching a stream's kernels: time in the calls, the delay until
/// the kernels start, and the number of kernels that wait in the queue.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace assay::trace {

/// The launches of kernels of one stream.
struct launch_latency {
  stream_key stream;
  summary_statistics call;  ///< time in the launching call, ns
  /// From the end of the call to the start of the kernel; negative if the kernel started before the
  /// call returned.
  summary_statistics delay;
  std::int64_t shorter = 0;        ///< kernels that ran for less time than their call took
  std::int64_t deepest_queue = 0;  ///< the most kernels that were launched and not finished
  double mean_queue = 0;           ///< mean over the time from the first launch to the last end
};

/// Launches by stream, without kernels that have no call in the trace. The nodes of a graph count
/// as one launch, from the begin of the first node to the end of the last. O(n log n).
inline std::vector<launch_latency> launch_latencies(view const& rows) {
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
  std::vector<launch_latency> result;
  for (auto& [stream, all] : streams) {
    std::stable_sort(all.begin(), all.end(),
                     [](launched const& a, launched const& b) { return a.call < b.call; });
    std::vector<std::int64_t> taken, delays;
    std::vector<span> queued;
    launch_latency use;
    use.stream = stream;
    for (std::size_t i = 0; i < all.size();) {
      auto const& call = of.calls[all[i].call].when;
      auto when = all[i].when;
      std::int64_t ran = 0;
      for (auto const first = all[i].call; i < all.size() && all[i].call == first; ++i) {
        when = around(when, all[i].when);
        ran += all[i].when.length();
      }
      taken.push_back(call.length());
      delays.push_back(when.begin - call.end);
      use.shorter += ran < call.length() ? 1 : 0;
      queued.push_back({std::min(call.end, when.begin), when.end});
    }
    use.call = summarize(std::move(taken));
    use.delay = summarize(std::move(delays));
    auto const depths = time_at_depth(queued);
    use.deepest_queue = static_cast<std::int64_t>(depths.size()) - 1;
    use.mean_queue = mean_depth(depths);
    result.push_back(use);
  }
  return result;
}

}  // namespace assay::trace
