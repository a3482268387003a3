// SPDX-License-Identifier: Apache-2.0
/// @file
/// `trace_difference`: the changes between traces of two sides as plain data.
#pragma once

#include <assay/stats/signed_rank.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/time_breakdown.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::trace {

/// The breakdown that a change belongs to. The parts of `devices` sum up to the traced time, and so
/// do the parts of `host`, so one nanosecond can stand in both. The parts of `host_waits` sum up to
/// the time in `devices` that waits for the host. The parts of `context` have no sum.
enum class perspective : std::uint8_t { devices, host_waits, host, context };

constexpr std::string_view to_string(perspective who) noexcept {
  constexpr std::array<std::string_view, 4> names{"device", "late host", "host", "context"};
  return names[static_cast<std::size_t>(who)];
}

/// One entry of a breakdown that differs. Numbers are per run.
struct change {
  perspective seen_by = perspective::devices;
  entry_kind what = entry_kind::kernel;
  std::string name;
  breakdown_entry control, variant;  ///< medians over the runs of a side
  std::vector<double> pairs;         ///< ns of the variant less the control's, by pair of runs
  std::vector<double> tracing;       ///< the time that tracing added to `pairs`; empty: none
  stats::interval delta;             ///< see `sum_of`; the ends are infinite for too few pairs
  double share = 0;                  ///< part of the difference; NaN where the difference is zero

  double delta_ns() const noexcept { return delta.estimate; }
  /// True if the interval of the change excludes zero.
  bool distinguishable() const noexcept { return delta.excludes(0); }
};

/// True for time in which devices waited for the host, which `perspective::host_waits` splits up.
inline bool waits_for_host(change const& of) {
  return of.seen_by == perspective::devices &&
         (of.what == entry_kind::edge ||
          (of.what == entry_kind::idle && of.name == to_string(idle_cause::host_bound)));
}

/// True for idle time of devices for an unknown cause.
inline bool has_no_cause(change const& of) {
  return of.seen_by == perspective::devices && of.what == entry_kind::idle &&
         of.name == to_string(idle_cause::other);
}

/// True for a part of the traced time. All parts sum up to that time: operations of devices, idle
/// devices by cause, and the host's calls and locks where devices waited for the host.
inline bool is_part(change const& of) {
  return of.seen_by == perspective::host_waits ||
         (of.seen_by == perspective::devices && !waits_for_host(of));
}

/// The pairs of runs from which on changes have intervals: the interval of a single change then
/// misses its value at most once in 128 times.
inline constexpr std::size_t fewest_pairs = 8;

/// The changes between two sides. `explained_ns + unexplained_ns` is the difference of the traced
/// runs, less what tracing added if `tracing_taken()`.
struct trace_difference {
  double difference_ns = 0;       ///< to be accounted for: variant less control
  bool has_shares = true;         ///< false where that difference may be zero
  double control_ns = 0;          ///< traced, one run: the median
  double variant_ns = 0;          ///< traced, one run: the median
  stats::interval traced;         ///< the variant's length less the control's, by pairs of runs
  bool tracing_measured = false;  ///< each run had one beside it without a tracer
  stats::interval tracing;        ///< the time that tracing added to the difference, if measured
  std::size_t pairs = 1;          ///< pairs of runs
  int critical_value = -1;        ///< of the signed-rank intervals; -1: no intervals
  double confidence = 0;          ///< of all intervals of parts together; 0: no intervals
  std::vector<change> changes;    ///< by falling size
  double device_ns = 0;           ///< explained by kernels, copies, sets, dependencies, the tracer
  double host_ns = 0;             ///< explained by calls and locks that kept devices waiting
  double explained_ns = 0;        ///< both
  double unexplained_ns = 0;      ///< host code of its own, and causes not recorded
  double traced_ns() const noexcept { return traced.estimate; }
  /// The part of the traced difference that the tracer added: it delays the host, mostly in calls.
  double tracing_ns() const noexcept {
    return tracing_measured ? tracing.estimate : traced_ns() - difference_ns;
  }
  /// True if changes are told without what tracing added: that is not zero.
  bool tracing_taken() const noexcept { return tracing_measured && tracing.excludes(0); }
};

/// A part is worth a name from this share of the control on, the margin of a comparison. The same
/// work built twice differs for good by 0.2 to 2 us in batches of 0.2 to 0.9 ms (H100).
inline constexpr double named_share_of_control = 0.01;
/// A smaller part is worth a name from this share on of a difference that is not zero.
inline constexpr double named_share_of_difference = 0.1;

/// True for a part that reports name: distinguishable from zero, and not small. Others are told in
/// a sum.
inline bool is_named(change const& part, trace_difference const& of) {
  auto const ns = std::abs(part.delta_ns());
  bool const large =
      ns >= named_share_of_control * of.control_ns ||
      (of.has_shares && ns >= named_share_of_difference * std::abs(of.difference_ns));
  return is_part(part) && part.distinguishable() && large;
}

}  // namespace assay::trace
