// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to transfer. The time of a transfer in chunks, in closed form; `fit_overheads`: its
/// costs by measured times; `plan_chunks`: the number of chunks with the shortest predicted time.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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
    auto const [shorter, longer] = std::minmax(to_device_duplex, to_host_duplex);
    auto const alone = to_device_duplex <= to_host_duplex ? to_host : to_device;
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

/// Seconds that each chunk costs the copies in, the kernel and the copies out beside its bytes.
inline std::array<double, 3> overheads_of(link_costs const& of, job_size const& size) {
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
  auto const [copy_in, launch, copy_out] = overheads_of(of, size);
  double const n = chunks;
  auto const in = all.to_device / n + copy_in;
  auto const kernel = all.kernel / n + launch;
  auto const out = all.to_host / n + copy_out;
  // The first copy in and the last copy out have the link for themselves. In all other chunks the
  // shorter direction shares the link throughout, and the longer one for a part of its time.
  bool const in_longer = all.to_device_duplex >= all.to_host_duplex;
  auto const more_in = (in_longer ? all.link() : all.to_device_duplex) / n + copy_in;
  auto const more_out = (in_longer ? all.to_host_duplex : all.link()) / n + copy_out;
  return of.start_seconds +
         std::max({of.submit_seconds + in + (n - 1) * more_in + kernel + out,
                   of.submit_seconds + in + n * kernel + out,
                   of.submit_seconds + in + kernel + (n - 1) * more_out + out,
                   n * of.submit_seconds + in + kernel + out, n * (in + kernel + out) / slots});
}

/// Sets `copy_overhead_seconds` and `start_seconds` by the least-squares line through the times of
/// all cuts, less the times that the model predicts without overheads. A cut is a number of chunks
/// and the time of a transfer in these; at least two numbers must differ.
///
/// A chunk costs more in a full pipeline than a copy that follows another on its engine: engines
/// wait for each other's events and for the link. A direction that moves bytes while the other one
/// sets up its copy saves a part of this cost. The slope of the line has both effects.
inline void fit_overheads(link_costs& of, job_size const& size, int slots,
                          std::vector<std::pair<int, double>> const& cuts) {
  of.copy_overhead_seconds = of.start_seconds = 0;
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (auto const& [chunks, seconds] : cuts) {
    auto const x = chunks + 1.0;  // one copy of the other direction is on every path
    auto const y = seconds - predicted_seconds(of, size, chunks, slots);
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  auto const count = static_cast<double>(cuts.size());
  auto const slope = (count * sum_xy - sum_x * sum_y) / (count * sum_xx - sum_x * sum_x);
  of.copy_overhead_seconds = std::max(0.0, slope);
  of.start_seconds = std::max(0.0, (sum_y - of.copy_overhead_seconds * sum_x) / count);
}

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
  constexpr std::int64_t page = 4096, steps = 64;  // with fewer steps, chunks would not be equal
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
  auto const limit =
      all.kernel_limits()
          ? "the kernel limits"
          : printed("the link to the %s limits, at %.3g GB/s %s", in ? "device" : "host",
                    1e-9 * rate,
                    all.to_device > 0 && all.to_host > 0 ? "with both directions busy" : "alone");
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
  auto const units = (size.elements + step - 1) / step;
  // A kernel on a small chunk leaves a part of the device idle, which the model does not know:
  // where the kernel limits, more chunks have to gain something.
  double const least_gain = stages.kernel_limits() ? 0.0005 : 0;
  // A fit may find no overhead at all. No link has so little: those of H200s have 3 to 5 us.
  auto costs = of;
  costs.copy_overhead_seconds = std::max(costs.copy_overhead_seconds, 0.5e-6);
  int best = 0;
  for (int chunks = 1; chunks <= std::min<std::int64_t>(limits.max_chunks, units); ++chunks) {
    auto const largest = std::min((units + chunks - 1) / chunks * step, size.elements);
    auto const bytes = static_cast<double>(largest) / static_cast<double>(size.elements) *
                       (size.bytes_in + size.bytes_out);
    auto const slots = static_cast<int>(
        std::min<double>(std::min(chunks, limits.max_slots), limits.device_bytes / bytes));
    if (slots < 1) { continue; }
    auto const seconds = predicted_seconds(costs, size, chunks, slots);
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
