// SPDX-License-Identifier: Apache-2.0
/// @file
/// The rates of the link between host and device, by copies of page-locked memory.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::examples {

/// Bytes a second of each direction: the other one idle, and the other one busy.
struct link_rates {
  double to_device = 0, to_host = 0, to_device_duplex = 0, to_host_duplex = 0;

  /// Of both together, for jobs that move as much each way: the directions share the link until
  /// the faster one ends, and the other one goes on alone.
  double both() const {
    bool const in_ends = to_device_duplex >= to_host_duplex;
    auto const [slower, faster] = std::minmax(to_device_duplex, to_host_duplex);
    auto const alone = in_ends ? to_host : to_device;
    return 2 / (1 / faster + (1 - slower / faster) / alone);
  }
};

/// Measures the rates in some 50 ms; the device should be idle.
inline link_rates link_rates_of(on::device place) {
  constexpr std::size_t bytes = std::size_t{32} << 20U;  // 0.6 ms at 55 GB/s
  nvtx_range const scope{"link rates", category::measurement};
  device_guard const current{place};
  page_locked_block const host_in{bytes}, host_out{bytes};
  device_block const device_in{place, bytes}, device_out{place, bytes};
  stream const in{place}, out{place};
  std::array<event, 4> marks;
  for (auto& each : marks) { each = event{event::kind::timed}; }
  // The second copy is timed. Four opposing copies cover it even if one direction is half as fast.
  auto const rates = [&](bool to_device, bool to_host) {
    int const copies = to_device && to_host ? 4 : 2;
    std::vector<double> inward, outward;
    for (int repeat = 0; repeat < 5; ++repeat) {
      for (int i = 0; i < copies; ++i) {
        if (to_device) {
          check(cudaMemcpyAsync(device_in.get(), host_in.get(), bytes, cudaMemcpyHostToDevice,
                                in.get()));
        }
        if (to_host) {
          check(cudaMemcpyAsync(host_out.get(), device_out.get(), bytes, cudaMemcpyDeviceToHost,
                                out.get()));
        }
        if (i > 1) { continue; }
        marks[static_cast<std::size_t>(i)].record(in);
        marks[static_cast<std::size_t>(i) + 2].record(out);
      }
      in.synchronize();
      out.synchronize();
      inward.push_back(bytes / marks[1].seconds_since(marks[0]));
      outward.push_back(bytes / marks[3].seconds_since(marks[2]));
    }
    return std::pair{stats::summarise(inward).median, stats::summarise(outward).median};
  };
  link_rates found;
  found.to_device = rates(true, false).first;
  found.to_host = rates(false, true).second;
  std::tie(found.to_device_duplex, found.to_host_duplex) = rates(true, true);
  return found;
}

}  // namespace assay::examples
