// SPDX-License-Identifier: Apache-2.0
/// @file
/// How long a transfer takes that is cut into chunks: arithmetic.
#pragma once

#include <assay/transfer/overlap_cuts.hpp>
#include <assay/transfer/overlap_terms.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::transfer {

namespace detail {

/// When a copy moved bytes.
struct busy {
  double begin = 0, end = 0;
};

/// When a copy that begins to move bytes at `begin` ends: at its duplex rate while the other engine
/// is busy, alone in between, of which the first `count` copies are known. `next` is the first of
/// them that is not over by `begin`.
inline double copy_end(double begin, double alone, double duplex, std::vector<busy> const& other,
                       std::size_t count, std::size_t& next) {
  if (!(alone > 0)) { return begin; }
  while (next < count && other[next].end <= begin) { ++next; }
  double now = begin;
  double left = 1;  // share of the copy
  for (auto at = next; at < count; ++at) {
    if (other[at].begin > now) {
      auto const gap = other[at].begin - now;
      if (left * alone <= gap) { return now + left * alone; }
      left -= gap / alone;
      now = other[at].begin;
    }
    auto const together = other[at].end - now;
    if (together <= 0) { continue; }
    if (left * duplex <= together) { return now + left * duplex; }
    left -= together / duplex;
    now = other[at].end;
  }
  return now + left * alone;
}

}  // namespace detail

/// Seconds that a list of chunks takes on two copy engines and one compute engine.
///
/// A slot has room for one chunk on the device. With engines that take chunks in order, chunk i is
/// copied in after chunk i - 1, once chunk i - slots is computed; it is computed after chunk i - 1,
/// once it is there and chunk i - slots has left; it is copied out once it is computed. Each copy's
/// rate depends on whether the other engine moves bytes, which is known only once its times are: so
/// the recurrence is repeated with the times of the last pass until they stay.
template <class Terms>
double chunked_seconds(Terms const& of, overlap_size const& size,
                       std::vector<std::int64_t> const& chunks, int slots) {
  if (slots < 1) {
    throw std::invalid_argument("slots = " + std::to_string(slots) +
                                " is not possible: at least 1 is");
  }
  auto const count = chunks.size();
  if (count == 0 || size.elements == 0) { return of.start_seconds; }
  auto const all = stages_of(of, size);
  auto const overhead = overheads_of(of, size);
  auto const reuse = static_cast<std::size_t>(slots);
  // Before the first pass every copy to the device is taken for one without end.
  constexpr double always = std::numeric_limits<double>::infinity();
  std::vector<detail::busy> in(count, detail::busy{0, always});
  std::vector<detail::busy> out(count);
  std::vector<double> computed(count);
  for (std::size_t pass = 0; pass < 2 * count + 2; ++pass) {  // each settles an event or more
    std::size_t next_in = 0;
    std::size_t next_out = 0;
    double moved = 0;  // the last end may stay while others still move
    for (std::size_t i = 0; i < count; ++i) {
      auto const share = static_cast<double>(chunks[i]) / static_cast<double>(size.elements);
      auto begin = static_cast<double>(i + 1) * of.submit_seconds;
      if (i > 0) { begin = std::max(begin, in[i - 1].end); }
      if (i >= reuse) { begin = std::max(begin, computed[i - reuse]); }
      begin += overhead.to_device;
      // Only earlier chunks can leave while this one comes, and their times are known.
      auto const end = detail::copy_end(begin, share * all.to_device, share * all.to_device_duplex,
                                        out, i, next_out);
      moved = std::max(moved, std::abs(in[i].end - end));
      in[i] = {begin, end};
      auto ready = in[i].end;
      if (i > 0) { ready = std::max(ready, computed[i - 1]); }
      if (i >= reuse) { ready = std::max(ready, out[i - reuse].end); }
      computed[i] = ready + overhead.kernel + share * all.kernel;
      auto const leave =
          (i > 0 ? std::max(computed[i], out[i - 1].end) : computed[i]) + overhead.to_host;
      auto const left = detail::copy_end(leave, share * all.to_host, share * all.to_host_duplex, in,
                                         count, next_in);
      moved = std::max(moved, std::abs(out[i].end - left));
      out[i] = {leave, left};
    }
    if (moved <= 1e-9 * out.back().end) { break; }
  }
  return of.start_seconds + out.back().end;
}

}  // namespace assay::transfer
