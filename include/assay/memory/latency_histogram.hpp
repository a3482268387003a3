// SPDX-License-Identifier: Apache-2.0
/// @file
/// A histogram of durations with a bounded relative error.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace assay::mr {

/// Counts nanoseconds in buckets, eight per doubling: a quantile is at most 1/8 too large, and
/// never too small. One thread adds; others may read meanwhile.
class latency_histogram {
 public:
  void add(std::uint64_t nanoseconds) noexcept {
    auto& count = counts_[bucket_of(nanoseconds)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Adds all of another's counts. Only while nobody adds to this one.
  void merge(latency_histogram const& other) noexcept {
    for (std::size_t i = 0; i < buckets; ++i) {
      counts_[i].fetch_add(other.counts_[i].load(std::memory_order_relaxed),
                           std::memory_order_relaxed);
    }
  }
  void clear() noexcept {
    for (auto& count : counts_) { count.store(0, std::memory_order_relaxed); }
  }

  std::uint64_t count() const noexcept {
    std::uint64_t sum = 0;
    for (auto const& each : counts_) { sum += each.load(std::memory_order_relaxed); }
    return sum;
  }

  /// The upper edge of the bucket with the nearest-rank quantile, in nanoseconds; 0 of nothing.
  std::uint64_t quantile(double share) const noexcept {
    auto const total = count();
    if (total == 0) { return 0; }
    auto const rank = std::max(1.0, std::ceil(share * static_cast<double>(total)));
    std::uint64_t passed = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
      passed += counts_[i].load(std::memory_order_relaxed);
      if (static_cast<double>(passed) >= rank) { return upper_edge(i); }
    }
    return upper_edge(buckets - 1);
  }

  static constexpr std::size_t bucket_of(std::uint64_t nanoseconds) noexcept {
    if (nanoseconds < 16) { return static_cast<std::size_t>(nanoseconds); }
    auto const shift = static_cast<unsigned>(std::bit_width(nanoseconds)) - 4;
    auto const bucket = 8 * std::size_t{shift} + static_cast<std::size_t>(nanoseconds >> shift);
    return bucket < buckets ? bucket : buckets - 1;
  }
  static constexpr std::uint64_t upper_edge(std::size_t bucket) noexcept {
    if (bucket < 16) { return bucket; }
    auto const shift = bucket / 8 - 1;
    return ((bucket % 8 + std::uint64_t{9}) << shift) - 1;
  }

 private:
  static constexpr std::size_t buckets = 8 * 37;  // up to 68 s
  std::array<std::atomic<std::uint64_t>, buckets> counts_{};
};

static_assert(latency_histogram::upper_edge(latency_histogram::bucket_of(15)) == 15);
static_assert(latency_histogram::upper_edge(latency_histogram::bucket_of(1000)) == 1023);
static_assert(latency_histogram::bucket_of(1024) == latency_histogram::bucket_of(1023) + 1);

}  // namespace assay::mr
