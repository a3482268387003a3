// SPDX-License-Identifier: Apache-2.0
/// @file
/// Little's law for memory: what is in flight is the rate times the latency, and so the rate is
/// never more than what a kernel has in flight divided by the latency; nor more than its SMs can
/// take in, or the memory give.
#pragma once

#include <algorithm>
#include <string_view>

namespace assay::machine {

/// Which term is the least, and so bounds a rate.
enum class little_bound { latency, sm, memory };

constexpr std::string_view to_string(little_bound which) noexcept {
  switch (which) {
    case little_bound::latency:
      return "latency";
    case little_bound::sm:
      return "SM";
    case little_bound::memory:
      return "memory";
  }
  return "?";
}

/// The most that a kernel can read, and what bounds it.
struct little_rate {
  double bytes_per_second = 0;
  little_bound by = little_bound::latency;
  bool operator==(little_rate const&) const = default;
};

/// What a device's memory does, as `little_terms_of` measures it.
///
/// What they predict is an upper bound. It neglects that the latency is that of an idle memory, and
/// grows with the load; that a thread which has got its bytes uses them before it asks for more, so
/// that less is in flight on the mean than at most; that an engine which copies for an SM has a
/// rate of its own; and that SMs share paths to the memory.
struct little_terms {
  double latency_seconds = 0;         ///< of a load from DRAM whose page was used just before
  double random_latency_seconds = 0;  ///< of one from anywhere in some gigabytes
  double read_bytes_per_second = 0;   ///< the most that was seen by reading alone
  double sm_bytes_per_second = 0;     ///< the most that one of a few SMs was seen to read
  bool operator==(little_terms const&) const = default;

  /// What must be in flight on the whole device to reach the full rate, if the latency stays what
  /// it is.
  double bytes_needed() const noexcept { return latency_seconds * read_bytes_per_second; }
  /// The same on one SM, for all that it can take in.
  double sm_bytes_needed() const noexcept { return latency_seconds * sm_bytes_per_second; }

  /// The rate of a kernel that has `bytes` in flight on `sms` SMs together.
  little_rate predicted(double bytes, int sms) const noexcept {
    return least(bytes / latency_seconds, sms);
  }
  /// The same where every row is anywhere: the first access of each pays the longer latency.
  little_rate predicted_random(double bytes, int sms) const noexcept {
    return least(bytes / random_latency_seconds, sms);
  }

 private:
  little_rate least(double by_latency, int sms) const noexcept {
    double const by_sms = sms * sm_bytes_per_second;
    if (read_bytes_per_second <= std::min(by_latency, by_sms)) {
      return {read_bytes_per_second, little_bound::memory};
    }
    if (by_sms <= by_latency) { return {by_sms, little_bound::sm}; }
    return {by_latency, little_bound::latency};
  }
};

/// What a kernel has in flight at most: each of `sms` SMs has `blocks` blocks, each with `stages`
/// tiles of `tile_bytes`. (For plain loads one stage: threads x loads in flight x bytes of a load.)
constexpr double bytes_in_flight(int sms, int blocks, int stages, double tile_bytes) noexcept {
  return static_cast<double>(sms) * blocks * stages * tile_bytes;
}

}  // namespace assay::machine
