// SPDX-License-Identifier: Apache-2.0
/// @file
/// Little's law for memory: bytes in flight = rate x latency. So a kernel's rate is at most its
/// bytes in flight over the latency, at most the rate of its SMs, and at most the rate of the
/// memory.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <string_view>

namespace assay::benchmark {

/// The term that is the least, and so bounds a rate.
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

/// The highest read rate of a kernel, and the term that bounds it.
struct little_rate {
  double bytes_per_second = 0;
  little_bound by = little_bound::latency;
  bool operator==(little_rate const&) const = default;
};

/// Latencies and rates of a device's memory, measured by `little_terms_of`.
///
/// The predicted rates are upper bounds. They neglect four effects:
/// - the latency grows with the load, and was measured on an idle memory;
/// - a thread uses its bytes before it asks for more, so fewer are in flight on average;
/// - a copy engine of an SM has a rate of its own;
/// - SMs share paths to the memory.
struct little_terms {
  double latency_seconds = 0;         ///< a DRAM load, its page used just before
  double random_latency_seconds = 0;  ///< a load from anywhere in several GiB
  double read_bytes_per_second = 0;   ///< the highest rate seen, reads alone
  double sm_bytes_per_second = 0;     ///< the highest rate of one of a few busy SMs
  bool operator==(little_terms const&) const = default;

  /// Bytes in flight on the whole device that reach the full rate at this latency.
  double bytes_needed() const noexcept { return latency_seconds * read_bytes_per_second; }

  /// The rate of a kernel that has `bytes` in flight on `sms` SMs together.
  little_rate predicted(double bytes, int sms) const noexcept {
    return least(bytes / latency_seconds, sms);
  }
  /// The rate where rows lie at random: the first access of each row has the longer latency.
  little_rate predicted_random(double bytes, int sms) const noexcept {
    return least(bytes / random_latency_seconds, sms);
  }
  /// The highest rate, read and written, of a kernel that moves `mix` bytes for each byte that it
  /// reads. `limit` is the memory's rate for this mix. `random`: it reads at random addresses.
  little_rate most(double bytes, int sms, double mix, double limit, bool random) const noexcept {
    auto const read = random ? predicted_random(bytes, sms) : predicted(bytes, sms);
    auto const moved = read.bytes_per_second * mix;
    return moved < limit ? little_rate{moved, read.by} : little_rate{limit, little_bound::memory};
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

}  // namespace assay::benchmark
