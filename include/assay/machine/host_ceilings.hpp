// SPDX-License-Identifier: Apache-2.0
/// @file
/// The rate at which the host's memory can be copied: the limit that host reports divide by.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/machine/ceiling.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace assay::machine {

/// Bytes per second, read and written counted, at which `threads` threads copy memory, 1 or more.
/// The rate is the median of five copies of 256 MiB, which is far more than any cache holds.
inline ceiling host_copy_ceiling(int threads) {
  constexpr std::size_t bytes = std::size_t{256} << 20U;
  std::vector<std::byte> from(bytes, std::byte{0x5a});
  std::vector<std::byte> to(bytes, std::byte{0});
  std::vector<double> seconds(5);
  for (double& once : seconds) {
    auto const begin = std::chrono::steady_clock::now();
    host::parallel_for(threads, bytes, 4096, [&](std::int64_t first, std::int64_t last) {
      std::memcpy(to.data() + first, from.data() + first, static_cast<std::size_t>(last - first));
    });
    once = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  std::sort(seconds.begin(), seconds.end());
  return {concat({"host memcpy, ", std::to_string(threads), " threads"}), 2.0 * bytes / seconds[2]};
}

}  // namespace assay::machine
