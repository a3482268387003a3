// SPDX-License-Identifier: Apache-2.0
/// @file
/// The rate at which a device's memory can be copied: the limit that device reports divide by.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/measure/comparison.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

namespace assay::measure {

/// Bytes per second, read and written counted, of `cudaMemcpyAsync` device to device.
///
/// Copies 1 GiB, or an eighth of the free memory where that is less. Where the two buffers lie
/// against each other changes the rate (by 10 % on an H200), so it is the fastest of eight
/// placements, each by the median of three copies after one that is not timed.
inline ceiling device_copy_ceiling(on::device place) {
  device_guard const guard{place};
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes));
  auto const bytes = std::min(std::size_t{1} << 30U, free_bytes / 8);
  constexpr std::size_t step = 37 * 4096;  // odd pages, so that no power of two comes back
  constexpr std::size_t placements = 8;
  auto const allocate = [](std::size_t size) {
    void* pointer = nullptr;
    check(cudaMalloc(&pointer, size));
    return std::unique_ptr<std::byte, void (*)(std::byte*)>{
        static_cast<std::byte*>(pointer), [](std::byte* old) { check_noexcept(cudaFree(old)); }};
  };
  auto const from = allocate(bytes);
  auto const to = allocate(bytes + placements * step);
  stream const where{place};
  check(cudaMemsetAsync(from.get(), 0x5a, bytes, where.get()));
  std::vector<event> marks;
  for (int i = 0; i < 4; ++i) { marks.emplace_back(event::kind::timed); }
  double fastest = std::numeric_limits<double>::infinity();
  for (std::size_t placement = 0; placement < placements; ++placement) {
    auto* const target = to.get() + placement * step;
    for (std::size_t i = 0; i < marks.size(); ++i) {
      check(cudaMemcpyAsync(target, from.get(), bytes, cudaMemcpyDeviceToDevice, where.get()));
      marks[i].record(where);
    }
    where.synchronize();
    std::array<double, 3> seconds{};
    for (std::size_t i = 0; i < 3; ++i) { seconds[i] = marks[i + 1].seconds_since(marks[i]); }
    std::ranges::sort(seconds);
    fastest = std::min(fastest, seconds[1]);
  }
  return {"cudaMemcpy device to device", 2.0 * static_cast<double>(bytes) / fastest};
}

}  // namespace assay::measure
