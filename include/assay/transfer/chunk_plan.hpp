// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to transfer. `plan_chunks`: the number of chunks of a transfer, in closed form.
///
/// N equal chunks need about T(N) = S/N + (1 - 1/N) B + (N + 2) a: one stage takes all chunks
/// without a break, the others take the first or the last one. S is the time of all stages one
/// after another, B that of the longest one, a what each chunk costs it. T is least at
/// N = sqrt((S - B) / a), and flat there. So constants serve: on a link with half or twice the
/// terms N loses 4 % at most from 16 MiB on (the grid of benchmarks/results/overlap.json). Of all
/// sizes from 64 KiB on, and links down to a tenth of the speed, 1 plan in 1,000 loses more than
/// 10 % and 5 us.
#pragma once

#include <assay/core/requirements.hpp>
#include <assay/stats/number_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::transfer {

/// The terms of a link that a plan needs: those of an H200 (benchmarks/results/overlap.json).
struct link_costs {
  double bytes_per_second = 50e9;  ///< each way with both ways busy: 50.1 and 50.5 GB/s
  double copy_seconds = 4.8e-6;    ///< beside the bytes of a copy in a full pipeline
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
  double kernel_seconds = 0;  ///< of `compute` over all elements; 0: half of the longer copy
  bool operator==(job_size const&) const = default;
};

/// Seconds of the three stages of a transfer over all elements.
struct stage_seconds {
  double copy_in, kernel, copy_out;

  stage_seconds(link_costs const& of, job_size const& size)
      : copy_in(size.bytes_in / of.bytes_per_second),
        copy_out(size.bytes_out / of.bytes_per_second) {
    // By the grid of an H200 this loses 3 % at most, whatever time the kernel takes.
    kernel = size.kernel_seconds > 0 ? size.kernel_seconds : link() / 2;
  }
  double link() const noexcept { return std::max(copy_in, copy_out); }
  double longest() const noexcept { return std::max(link(), kernel); }
  double serial() const noexcept { return copy_in + kernel + copy_out; }
  bool kernel_limits() const noexcept { return kernel >= link(); }
};

/// The blocks of elements, the last one perhaps shorter. A block may be as large as its type.
inline std::int64_t blocks_of(std::int64_t elements, std::int64_t granularity) {
  return elements / granularity + (elements % granularity != 0 ? 1 : 0);
}

/// The elements of at most `chunks` equal chunks, at multiples of `granularity`; none is empty.
inline std::vector<std::int64_t> equal_chunks(std::int64_t elements, std::int64_t granularity,
                                              int chunks) {
  auto const units = blocks_of(elements, granularity);
  chunks = static_cast<int>(std::min<std::int64_t>(chunks, units));
  std::vector<std::int64_t> found;
  std::int64_t from = 0;
  for (int i = 1; i <= chunks; ++i) {
    auto const unit = std::llround(static_cast<double>(units) * i / chunks);
    auto const to = std::min(elements, static_cast<std::int64_t>(unit) * granularity);
    if (to > from) { found.push_back(to - from); }
    from = to;
  }
  return found;
}

/// `granularity`, or a multiple of it that lets chunks of large transfers begin at pages of 4096
/// elements, since copy engines are fastest on whole lines.
inline std::int64_t page_granularity(std::int64_t granularity, std::int64_t elements) {
  constexpr std::int64_t page = 4096, steps = 64;  // with fewer steps, chunks would not be equal
  if (granularity > elements / steps / page) { return granularity; }
  auto const both = std::lcm(granularity, page);
  return both <= elements / steps ? both : granularity;
}

/// The chunks of a transfer.
struct chunk_plan {
  std::vector<std::int64_t> chunks;  ///< elements of each, in order
  int slots = 1;                     ///< chunks that are on the device at once
  std::string why;                   ///< in words, with the terms that decided
  bool operator==(chunk_plan const&) const = default;
};

/// The limits of a plan.
struct plan_limits {
  int max_chunks = 256;  ///< the overhead of more chunks would be most of their time
  /// Two for each stage: one chunk that a stage works on, and the next one.
  int max_slots = 6;
  double device_bytes = std::numeric_limits<double>::infinity();  ///< for all slots together
};

namespace detail {

inline std::string explain_plan(link_costs const& of, stage_seconds const& all,
                                chunk_plan const& plan) {
  using stats::number_text;
  std::string text = "the kernel limits";
  if (!all.kernel_limits()) {
    text = std::string{"the link to the "} + (all.copy_in >= all.copy_out ? "device" : "host") +
           " limits, at " + number_text(1e-9 * of.bytes_per_second, 3) + " GB/s";
  }
  return text + " (" + number_text(all.longest() * 1e3, 4) + " ms; one stage after another " +
         number_text(all.serial() * 1e3, 4) + " ms); " + std::to_string(plan.chunks.size()) +
         " chunks in " + std::to_string(plan.slots) + " slots";
}

}  // namespace detail

/// The number of chunks with the least T(N) within the limits. Where the device has less room than
/// for all slots, chunks are smaller, or slots fewer. Throws `std::invalid_argument` if no number
/// of chunks is within the limits.
inline chunk_plan plan_chunks(link_costs const& of, job_size const& size,
                              plan_limits const& limits = {}) {
  chunk_plan plan{{}, 1, "there is nothing to transfer"};
  if (size.elements <= 0) { return plan; }
  stage_seconds const all{of, size};
  auto const step = page_granularity(size.granularity, size.elements);
  auto const most = std::min<std::int64_t>(limits.max_chunks, blocks_of(size.elements, step));
  int const copies = all.kernel_limits()           ? 1
                     : all.copy_in >= all.copy_out ? size.inputs
                                                   : size.outputs;
  auto const least_time =
      limits.max_slots == 1 ? 1.0  // one slot overlaps nothing
                            : std::sqrt((all.serial() - all.longest()) / of.copy_seconds / copies);
  auto const bytes = size.bytes_in + size.bytes_out;
  auto const with_room = std::ceil(limits.max_slots * bytes / limits.device_bytes);
  auto const wanted = std::max(std::round(least_time), with_room);
  auto const count = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(most)));
  plan.chunks = equal_chunks(size.elements, step, count);
  auto const largest =
      static_cast<double>(*std::max_element(plan.chunks.begin(), plan.chunks.end()));
  auto const chunk_bytes = largest / static_cast<double>(size.elements) * bytes;
  plan.slots = static_cast<int>(
      std::min<double>(std::min(static_cast<int>(plan.chunks.size()), limits.max_slots),
                       limits.device_bytes / chunk_bytes));
  if (plan.slots < 1) {
    throw std::invalid_argument("no cut of " + std::to_string(size.elements) +
                                " elements into at most " + std::to_string(limits.max_chunks) +
                                " chunks, at multiples of " + std::to_string(size.granularity) +
                                ", fits " + stats::number_text(limits.device_bytes) +
                                " bytes of device memory");
  }
  plan.why = detail::explain_plan(of, all, plan);
  return plan;
}

}  // namespace assay::transfer
