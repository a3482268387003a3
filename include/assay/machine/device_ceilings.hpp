// SPDX-License-Identifier: Apache-2.0
/// @file
/// The rate at which a device's memory can be copied: the limit that device reports divide by.
#pragma once

#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>
#include <assay/machine/ceiling.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>

namespace assay::machine {

/// Bytes per second, read and written counted, of `cudaMemcpyAsync` device to device.
///
/// Copies 1 GiB, or an eighth of the free memory where that is less, for at least 0.25 s, and
/// returns the rate of the fastest burst of four copies. Memory that was freed just before, up to
/// 100 GiB, slows copies for up to 0.25 s (`memory_scrub`). Successive bursts write to other
/// addresses, because the distance of the two buffers changes the rate by a percent.
inline ceiling device_copy_ceiling(on::device place) {
  nvtx_range const scope{"device copy ceiling", category::measurement};
  device_guard const guard{place};
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes));
  auto const bytes = std::min(std::size_t{1} << 30U, free_bytes / 8);
  constexpr std::size_t step = 37 * 4096;  // odd pages, so that no power of two comes back
  constexpr std::size_t placements = 8;
  constexpr int burst = 4;
  device_block const from{place, bytes};
  device_block const to{place, bytes + placements * step};
  stream const where{place};
  check(cudaMemsetAsync(from.get(), 0x5a, bytes, where.get()));
  event begin{event::kind::timed};
  event end{event::kind::timed};
  double fastest = std::numeric_limits<double>::infinity();
  auto const first = std::chrono::steady_clock::now();
  std::size_t round = 0;
  do {
    auto* const target = static_cast<std::byte*>(to.get()) + round % placements * step;
    for (int i = 0; i <= burst; ++i) {  // the first is not timed
      check(cudaMemcpyAsync(target, from.get(), bytes, cudaMemcpyDeviceToDevice, where.get()));
      if (i == 0) { begin.record(where); }
    }
    end.record(where);
    where.synchronize();
    fastest = std::min(fastest, end.seconds_since(begin) / burst);
    ++round;
  } while (round < placements ||
           std::chrono::steady_clock::now() - first < std::chrono::milliseconds{250});
  return {"cudaMemcpy device to device", 2.0 * static_cast<double>(bytes) / fastest};
}

}  // namespace assay::machine
