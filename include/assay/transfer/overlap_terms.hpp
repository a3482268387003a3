// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a transfer in chunks costs on one machine, and the closed form of how long it takes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace assay::transfer {

/// What one machine and one kernel cost. The rates are those of each direction alone, and of each
/// while the other one is busy too.
struct overlap_terms {
  double to_device_bytes_per_second = 0;
  double to_host_bytes_per_second = 0;
  double to_device_duplex_bytes_per_second = 0;
  double to_host_duplex_bytes_per_second = 0;
  double kernel_seconds_per_element = 0;
  /// Of each copy in a full pipeline, beside its bytes: what its engine loses to its start and to
  /// waiting for the others.
  double copy_overhead_seconds = 0;
  double kernel_overhead_seconds = 0;  ///< of each launch, beside its elements
  double submit_seconds = 0;           ///< host time to enqueue one chunk; chunk i waits i of it
  double start_seconds = 0;            ///< once a transfer, however it is cut
  /// Half the width of the 95 % interval of `copy_overhead_seconds`; 0 where it was not measured.
  double copy_overhead_error_seconds = 0;
  bool operator==(overlap_terms const&) const = default;
};

/// What has to cross: in all, over all arrays.
struct overlap_size {
  double bytes_in = 0;
  double bytes_out = 0;
  std::int64_t elements = 0;
  std::int64_t granularity = 1;  ///< chunks begin at multiples of it
  int inputs = 1;                ///< arrays, each a copy of its own in every chunk
  int outputs = 1;
  bool operator==(overlap_size const&) const = default;
};

/// How long each of the three stages takes in all, in seconds, without any overhead.
struct overlap_stages {
  double to_device = 0;         ///< H, the other direction idle
  double kernel = 0;            ///< K
  double to_host = 0;           ///< D, the other direction idle
  double to_device_duplex = 0;  ///< the same, the other direction busy throughout
  double to_host_duplex = 0;
  bool operator==(overlap_stages const&) const = default;

  /// S: one stage after another.
  constexpr double serial() const noexcept { return to_device + kernel + to_host; }

  /// Both directions started at once: until the shorter one ends both run at their duplex rates,
  /// the rest of the longer one runs alone.
  constexpr double link() const noexcept {
    auto const [shorter, longer, alone] =
        to_device_duplex <= to_host_duplex
            ? std::array{to_device_duplex, to_host_duplex, to_host}
            : std::array{to_host_duplex, to_device_duplex, to_device};
    return longer <= 0 ? 0 : shorter + (1 - shorter / longer) * alone;
  }

  /// B: what no order of chunks can go below.
  constexpr double bound() const noexcept { return std::max(link(), kernel); }
};

inline overlap_stages stages_of(overlap_terms const& of, overlap_size const& size) {
  auto const seconds = [](double bytes, double rate) { return bytes > 0 ? bytes / rate : 0.0; };
  return {seconds(size.bytes_in, of.to_device_bytes_per_second),
          static_cast<double>(size.elements) * of.kernel_seconds_per_element,
          seconds(size.bytes_out, of.to_host_bytes_per_second),
          seconds(size.bytes_in, of.to_device_duplex_bytes_per_second),
          seconds(size.bytes_out, of.to_host_duplex_bytes_per_second)};
}

/// T(N) = S/N + (1 - 1/N) B + N a: `chunks` equal chunks, `chunk_seconds` the overhead of each on
/// the stage that limits. Fill and drain cost what the other stages do with one chunk.
inline double equal_chunk_seconds(overlap_stages const& of, double chunks, double chunk_seconds) {
  return of.serial() / chunks + (1 - 1 / chunks) * of.bound() + chunks * chunk_seconds;
}

/// N* = sqrt((S - B) / a), where T(N) is smallest; at least 1.
inline double best_chunk_count(overlap_stages const& of, double chunk_seconds) {
  auto const gain = of.serial() - of.bound();
  if (gain <= 0) { return 1; }
  return std::max(1.0, std::sqrt(gain / chunk_seconds));
}

/// T* = T(N*), which is B + 2 sqrt((S - B) a) where N* is not held at 1.
inline double best_seconds(overlap_stages const& of, double chunk_seconds) {
  return equal_chunk_seconds(of, best_chunk_count(of, chunk_seconds), chunk_seconds);
}

/// B / T*: the share of the bound that equal chunks can reach.
inline double best_share(overlap_stages const& of, double chunk_seconds) {
  return of.bound() / best_seconds(of, chunk_seconds);
}

/// What a chunk costs the engine of each stage beside its bytes and elements, in seconds.
struct overlap_overheads {
  double to_device = 0, kernel = 0, to_host = 0;
};

inline overlap_overheads overheads_of(overlap_terms const& of, overlap_size const& size) {
  return {size.bytes_in > 0 ? of.copy_overhead_seconds * size.inputs : 0.0,
          of.kernel_overhead_seconds,
          size.bytes_out > 0 ? of.copy_overhead_seconds * size.outputs : 0.0};
}

/// a: the overhead of a chunk on the stage that takes longest.
inline double chunk_seconds(overlap_terms const& of, overlap_size const& size) {
  auto const all = stages_of(of, size);
  auto const each = overheads_of(of, size);
  if (all.kernel >= all.link()) { return each.kernel; }
  return all.to_device_duplex >= all.to_host_duplex ? each.to_device : each.to_host;
}

}  // namespace assay::transfer
