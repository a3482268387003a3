// SPDX-License-Identifier: Apache-2.0
/// @file
/// Little's law for memory: what is in flight is the rate times the latency, and so the rate is
/// never more than what a kernel has in flight divided by the latency.
#pragma once

#include <algorithm>

namespace assay::measure {

/// What a device's memory does, as `little_terms_of` measures it.
struct little_terms {
  double latency_seconds = 0;         ///< of a load from DRAM whose page was used just before
  double random_latency_seconds = 0;  ///< of one from anywhere in some gigabytes
  double read_bytes_per_second = 0;   ///< the most that was seen by reading alone
  bool operator==(little_terms const&) const = default;

  /// What must be in flight on the whole device to reach the full rate.
  double bytes_needed() const noexcept { return latency_seconds * read_bytes_per_second; }

  /// The rate of a kernel that has `bytes` in flight on the whole device.
  double predicted(double bytes) const noexcept {
    return std::min(read_bytes_per_second, bytes / latency_seconds);
  }
  /// The same where every row is anywhere: the first access of each pays the longer latency.
  double predicted_random(double bytes) const noexcept {
    return std::min(read_bytes_per_second, bytes / random_latency_seconds);
  }
};

/// What a kernel has in flight at most: each of `sms` SMs has `blocks` blocks, each with `stages`
/// tiles of `tile_bytes`. (For plain loads one stage: threads x loads in flight x bytes of a load.)
constexpr double bytes_in_flight(int sms, int blocks, int stages, double tile_bytes) noexcept {
  return static_cast<double>(sms) * blocks * stages * tile_bytes;
}

}  // namespace assay::measure
