// SPDX-License-Identifier: Apache-2.0
/// @file
/// The terms of the overlap model from times that were measured: arithmetic.
#pragma once

#include <assay/transfer/overlap_model.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace assay::transfer {

/// A copy's time is a line over its bytes.
struct copy_line {
  double bytes_per_second = 0;
  double overhead_seconds = 0;  ///< of a copy without bytes
};

/// The line through two copies alone; throws `std::invalid_argument` unless the longer one took
/// longer.
inline copy_line line_through(double bytes, double seconds, double more_bytes,
                              double more_seconds) {
  if (!(more_bytes > bytes) || !(more_seconds > seconds)) {
    throw std::invalid_argument("copies of " + std::to_string(bytes) + " and " +
                                std::to_string(more_bytes) + " bytes that took " +
                                std::to_string(seconds) + " and " + std::to_string(more_seconds) +
                                " s are no measurement of a link");
  }
  auto const rate = (more_bytes - bytes) / (more_seconds - seconds);
  return {rate, std::max(0.0, seconds - bytes / rate)};
}

/// How long a whole transfer took that was cut into so many equal chunks.
struct timed_cut {
  int chunks = 1;
  double seconds = 0;
};

/// Sets `copy_overhead_seconds` and `start_seconds` so that `chunked_seconds` of both cuts is what
/// was measured, with all other terms as they are.
///
/// What a chunk costs in a full pipeline is more than what a copy costs that follows another on its
/// engine: the engines wait for each other's events and for the link. In closed form, with T(N) = S
/// / N + (1 - 1/N) B + N a, it is a = (T(n) - T(m) + (S - B) (1/m - 1/n)) / (n - m); the recurrence
/// is solved instead, since it also knows rates that change with the traffic and what the host
/// takes. The overhead is 0 where the finer cut was so fast that there is none, and the start 0
/// where the model is slower than the measurement.
inline void fit_overheads(overlap_terms& of, overlap_size const& size, int slots,
                          timed_cut const& coarse, timed_cut const& fine) {
  if (coarse.chunks < 1 || fine.chunks <= coarse.chunks) {
    throw std::invalid_argument("cuts into " + std::to_string(coarse.chunks) + " and " +
                                std::to_string(fine.chunks) +
                                " chunks tell no overhead: the second must have more than the "
                                "first, and that at least 1");
  }
  of.start_seconds = 0;
  auto const few = equal_chunks(size.elements, size.granularity, coarse.chunks);
  auto const many = equal_chunks(size.elements, size.granularity, fine.chunks);
  auto const said = [&](double overhead, auto const& chunks) {
    of.copy_overhead_seconds = overhead;
    return chunked_seconds(of, size, chunks, slots);
  };
  auto const wanted = fine.seconds - coarse.seconds;
  // The closed form with S for S - B is more than any overhead can be.
  double low = 0;
  double high = std::max(0.0, wanted + stages_of(of, size).serial()) /
                static_cast<double>(fine.chunks - coarse.chunks);
  for (int i = 0; i < 50; ++i) {
    auto const middle = (low + high) / 2;
    (said(middle, many) - said(middle, few) < wanted ? low : high) = middle;
  }
  of.start_seconds = std::max(0.0, coarse.seconds - said((low + high) / 2, few));
}

/// Times of computations in a pipeline: of one chunk from its beginning to its end, and from that
/// end to the end of the last of some chunks that follow.
struct timed_kernels {
  double one_seconds = 0;
  std::int64_t one_elements = 0;
  double next_seconds = 0;
  std::int64_t next_elements = 0;  ///< of those that follow; 0: no such time
};

/// Seconds an element, net of launches and of what a kernel alone leaves idle as it ends.
///
/// Both times hold more than the kernels' work: the first what surrounds a kernel, and all of its
/// neighbour's work if it runs beside that; the second the waits for data where the link limits.
/// So the smaller one counts.
inline double kernel_seconds_per_element(timed_kernels const& seen, double overhead_seconds) {
  auto const one = std::max(0.0, seen.one_seconds - overhead_seconds) /
                   static_cast<double>(std::max<std::int64_t>(1, seen.one_elements));
  if (seen.next_elements <= 0) { return one; }
  return std::min(one, seen.next_seconds / static_cast<double>(seen.next_elements));
}

}  // namespace assay::transfer
