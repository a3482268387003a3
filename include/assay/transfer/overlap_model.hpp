// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to transfer. The time of a transfer in chunks, in closed form: arithmetic.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace assay::transfer {

/// The measured costs of the link of one machine.
///
/// Each direction has a rate while the other one is idle, and one while the other one is busy.
struct link_costs {
  double to_device_bytes_per_second = 0;
  double to_host_bytes_per_second = 0;
  double to_device_duplex_bytes_per_second = 0;
  double to_host_duplex_bytes_per_second = 0;
  double copy_overhead_seconds = 0;    ///< each copy in a full pipeline costs it beside its bytes
  double kernel_overhead_seconds = 0;  ///< each launch costs it beside its elements
  double submit_seconds = 0;           ///< the host takes it to enqueue one chunk
  double start_seconds = 0;            ///< each transfer costs it, with any number of chunks
  /// The 95 % interval of `copy_overhead_seconds` is this wide to each side; 0: not measured.
  double copy_overhead_error_seconds = 0;
  bool operator==(link_costs const&) const = default;
};

/// The size of a job, over all its arrays.
struct job_size {
  double bytes_in = 0;
  double bytes_out = 0;
  std::int64_t elements = 0;
  std::int64_t granularity = 1;  ///< chunks begin at multiples of it
  int inputs = 1;                ///< each array is a copy of its own in every chunk
  int outputs = 1;
  double kernel_seconds = 0;  ///< device time of `compute` over all elements
  bool operator==(job_size const&) const = default;
};

/// Seconds of the three stages of a transfer over all elements, without overheads.
struct stage_seconds {
  double to_device = 0;         ///< H, the other direction idle
  double kernel = 0;            ///< K
  double to_host = 0;           ///< D, the other direction idle
  double to_device_duplex = 0;  ///< H, the other direction busy
  double to_host_duplex = 0;    ///< D, the other direction busy

  /// S: one stage after another.
  constexpr double serial() const noexcept { return to_device + kernel + to_host; }

  /// Both directions from the same start: they share the link until the shorter one ends, and the
  /// rest of the longer one runs alone.
  constexpr double link() const noexcept {
    auto const [shorter, longer, alone] =
        to_device_duplex <= to_host_duplex
            ? std::array{to_device_duplex, to_host_duplex, to_host}
            : std::array{to_host_duplex, to_device_duplex, to_device};
    return longer <= 0 ? 0 : shorter + (1 - shorter / longer) * alone;
  }

  /// B: the lower bound for every order of chunks.
  constexpr double bound() const noexcept { return std::max(link(), kernel); }
  constexpr bool kernel_limits() const noexcept { return kernel >= link(); }
};

inline stage_seconds stages_of(link_costs const& of, job_size const& size) {
  auto const seconds = [](double bytes, double rate) { return bytes > 0 ? bytes / rate : 0.0; };
  auto const in = seconds(size.bytes_in, of.to_device_bytes_per_second);
  auto const out = seconds(size.bytes_out, of.to_host_bytes_per_second);
  return {in, size.kernel_seconds, out,
          out > 0 ? seconds(size.bytes_in, of.to_device_duplex_bytes_per_second) : in,
          in > 0 ? seconds(size.bytes_out, of.to_host_duplex_bytes_per_second) : out};
}

/// Seconds that each chunk costs a stage beside its bytes and elements.
struct chunk_overheads {
  double to_device = 0, kernel = 0, to_host = 0;
};

inline chunk_overheads overheads_of(link_costs const& of, job_size const& size) {
  return {size.bytes_in > 0 ? of.copy_overhead_seconds * size.inputs : 0.0,
          of.kernel_overhead_seconds,
          size.bytes_out > 0 ? of.copy_overhead_seconds * size.outputs : 0.0};
}

/// Predicted seconds of a transfer in N equal chunks, with room on the device for `slots` of them.
///
/// The prediction is the longest path through the pipeline. On each path one stage takes all
/// chunks without a break, and the other stages take the first or the last one. If all stages have
/// one overhead a, the path is T(N) = S/N + (1 - 1/N) B + (N + 2) a. Two more paths are the host
/// that enqueues every chunk, and `slots` chunks that take turns.
inline double predicted_seconds(link_costs const& of, job_size const& size, int chunks, int slots) {
  auto const all = stages_of(of, size);
  auto const each = overheads_of(of, size);
  double const n = chunks;
  auto const once = [&](double seconds, double overhead) { return seconds / n + overhead; };
  auto const in = once(all.to_device, each.to_device);
  auto const kernel = once(all.kernel, each.kernel);
  auto const out = once(all.to_host, each.to_host);
  auto const submit = of.submit_seconds;
  if (chunks == 1) { return of.start_seconds + submit + in + kernel + out; }
  // The first copy in and the last copy out have the link for themselves. In all other chunks the
  // shorter direction shares the link throughout, and the longer one for a part of its time.
  bool const in_longer = all.to_device_duplex >= all.to_host_duplex;
  auto const more_in = once(in_longer ? all.link() : all.to_device_duplex, each.to_device);
  auto const more_out = once(in_longer ? all.to_host_duplex : all.link(), each.to_host);
  return of.start_seconds +
         std::max({submit + in + (n - 1) * more_in + kernel + out, submit + in + n * kernel + out,
                   submit + in + kernel + (n - 1) * more_out + out, n * submit + in + kernel + out,
                   n * (in + kernel + out) / slots});
}

}  // namespace assay::transfer
