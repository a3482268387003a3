// SPDX-License-Identifier: Apache-2.0
/// @file
/// Finding the first wrong row of an output, and saying which it is.
#pragma once

#include <assay/host/parallel_for.hpp>
#include <assay/workload/concepts.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

namespace assay::workloads {

inline mismatch wrong_row(int lane, std::int64_t row, std::string const& what) {
  return "lane " + std::to_string(lane) + ", row " + std::to_string(row) + ": " + what;
}

/// The longest range that `first_wrong` asks for at once: its expected values stay in the L1 cache.
inline constexpr std::int64_t verify_step = 2048;

/// The lowest row of [0, count) that is wrong, or `count`; searched by all threads of the host.
///
/// `wrong(begin, end)` returns the lowest wrong row of a short range, or `end`.
template <class Wrong>
std::int64_t first_wrong(std::int64_t count, Wrong const& wrong) {
  constexpr std::int64_t grain = std::int64_t{1} << 17;  // 0.1 ms of work for each thread
  std::atomic<std::int64_t> first{count};
  auto const search = [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end && begin < first.load(std::memory_order_relaxed); begin += verify_step) {
      auto const stop = std::min(begin + verify_step, end);
      auto const found = wrong(begin, stop);
      if (found == stop) { continue; }
      auto lowest = first.load();
      while (found < lowest && !first.compare_exchange_weak(lowest, found)) {}
      return;
    }
  };
  host::parallel_for(host::all_threads(), count, grain, search);
  return first.load();
}

}  // namespace assay::workloads
