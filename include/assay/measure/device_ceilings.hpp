// SPDX-License-Identifier: Apache-2.0
/// @file
/// The rate at which a device's memory can be copied: the limit that device reports divide by.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/measure/comparison.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace assay::measure {

/// Bytes per second, read and written counted, of `cudaMemcpyAsync` device to device: the median of
/// seven copies of 1 GiB, or of an eighth of the free memory where that is less.
inline ceiling device_copy_ceiling(on::device place) {
  device_guard const guard{place};
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes));
  auto const bytes = std::min(std::size_t{1} << 30U, free_bytes / 8);
  auto const allocate = [bytes] {
    void* pointer = nullptr;
    check(cudaMalloc(&pointer, bytes));
    return std::unique_ptr<void, void (*)(void*)>{pointer,
                                                  [](void* old) { check_noexcept(cudaFree(old)); }};
  };
  auto const from = allocate();
  auto const to = allocate();
  stream const where{place};
  check(cudaMemsetAsync(from.get(), 0x5a, bytes, where.get()));
  std::vector<event> marks;
  for (int i = 0; i < 8; ++i) { marks.emplace_back(event::kind::timed); }
  check(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice, where.get()));
  marks[0].record(where);
  for (std::size_t i = 1; i < marks.size(); ++i) {
    check(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice, where.get()));
    marks[i].record(where);
  }
  where.synchronize();
  std::array<double, 7> seconds{};
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    seconds[i] = marks[i + 1].seconds_since(marks[i]);
  }
  std::ranges::nth_element(seconds, seconds.begin() + 3);
  return {"cudaMemcpy device to device", 2.0 * static_cast<double>(bytes) / seconds[3]};
}

}  // namespace assay::measure
