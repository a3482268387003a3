// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to transfer. `plan_chunks`: the number of chunks with the shortest predicted time.
#pragma once

#include <assay/transfer/overlap_model.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::transfer {

/// The elements of at most `chunks` equal chunks, at multiples of `granularity`; none is empty.
inline std::vector<std::int64_t> equal_chunks(std::int64_t elements, std::int64_t granularity,
                                              int chunks) {
  auto const units = (elements + granularity - 1) / granularity;
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
  constexpr std::int64_t page = 4096;
  constexpr std::int64_t steps = 64;  // with fewer, chunks would not be equal
  if (granularity > elements / steps / page) { return granularity; }
  auto const both = std::lcm(granularity, page);
  return both <= elements / steps ? both : granularity;
}

/// The chunks of a transfer, and their prediction.
struct chunk_plan {
  std::vector<std::int64_t> chunks;  ///< elements of each, in order
  int slots = 1;                     ///< chunks that are on the device at once
  double seconds = 0;                ///< predicted
  double bound_seconds = 0;          ///< no plan can be faster
  std::string why;                   ///< in words, with the costs that decided
  bool operator==(chunk_plan const&) const = default;

  std::int64_t largest_chunk() const {
    return chunks.empty() ? 0 : *std::max_element(chunks.begin(), chunks.end());
  }
};

/// The limits of a plan.
struct plan_limits {
  int max_chunks = 256;  ///< the overhead of more chunks would be most of their time
  /// Two for each stage: one chunk that a stage works on, and the next one.
  int max_slots = 6;
  double device_bytes = std::numeric_limits<double>::infinity();  ///< for all slots together
};

namespace detail {

inline std::string printed(char const* form, auto... values) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), form, values...);
  return text.data();
}

inline std::string explain_plan(stage_seconds const& all, job_size const& size,
                                chunk_plan const& plan) {
  bool const in = all.to_device_duplex >= all.to_host_duplex;
  auto const rate = in ? size.bytes_in / all.to_device_duplex : size.bytes_out / all.to_host_duplex;
  auto const* const others =
      all.to_device > 0 && all.to_host > 0 ? "with both directions busy" : "alone";
  auto const limit = all.kernel_limits() ? std::string{"the kernel limits"}
                                         : printed("the link to the %s limits, at %.3g GB/s %s",
                                                   in ? "device" : "host", 1e-9 * rate, others);
  return limit + printed(
                     " (%.4g ms; one stage after another %.4g ms); %zu chunks in %d slots; "
                     "predicted %.4g ms, %.1f %% of the bound's rate",
                     plan.bound_seconds * 1e3, all.serial() * 1e3, plan.chunks.size(), plan.slots,
                     plan.seconds * 1e3, 100 * plan.bound_seconds / plan.seconds);
}

}  // namespace detail

/// The number of chunks with the shortest predicted time within the limits. Costs microseconds of
/// host time. Throws `std::invalid_argument` if no number of chunks is within the limits.
inline chunk_plan plan_chunks(link_costs const& of, job_size const& size,
                              plan_limits const& limits = {}) {
  chunk_plan plan{{}, 1, of.start_seconds, 0, "there is nothing to transfer"};
  if (size.elements <= 0) { return plan; }
  auto const stages = stages_of(of, size);
  auto const step = page_granularity(size.granularity, size.elements);
  auto const slots_for = [&](int chunks) {
    auto const units = (size.elements + step - 1) / step;
    auto const largest = std::min((units + chunks - 1) / chunks * step, size.elements);
    auto const bytes = static_cast<double>(largest) / static_cast<double>(size.elements) *
                       (size.bytes_in + size.bytes_out);
    return static_cast<int>(
        std::min<double>(std::min(chunks, limits.max_slots), limits.device_bytes / bytes));
  };
  // A kernel on a small chunk leaves a part of the device idle, which the model does not know:
  // where the kernel limits, more chunks have to gain something.
  double const least_gain = stages.kernel_limits() ? 0.0005 : 0;
  auto const most = std::min<std::int64_t>(limits.max_chunks, (size.elements + step - 1) / step);
  int best = 0;
  for (int chunks = 1; chunks <= most; ++chunks) {
    auto const slots = slots_for(chunks);
    if (slots < 1) { continue; }
    auto const seconds = predicted_seconds(of, size, chunks, slots);
    if (best > 0 && seconds >= plan.seconds * (1 - least_gain * (chunks - best))) { continue; }
    best = chunks;
    plan.slots = slots;
    plan.seconds = seconds;
  }
  if (best == 0) {
    throw std::invalid_argument(detail::printed(
        "no cut of %lld elements into at most %d chunks, at multiples of %lld, fits %.6g bytes of "
        "device memory",
        static_cast<long long>(size.elements), limits.max_chunks,
        static_cast<long long>(size.granularity), limits.device_bytes));
  }
  plan.chunks = equal_chunks(size.elements, step, best);
  plan.bound_seconds = stages.bound();
  plan.why = detail::explain_plan(stages, size, plan);
  return plan;
}

}  // namespace assay::transfer
