// SPDX-License-Identifier: Apache-2.0
/// @file
/// `difference`: the changes between the traces of two runs, as parts of the difference of their
/// times.
#pragma once

#include <assay/trace/host_wait_breakdown.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/time_breakdown.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// The rows of `runs` runs of one thing, one after the other.
struct traced_runs {
  view rows;
  double runs = 1;
};

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
  breakdown_entry control, variant;
  double share = 0;  ///< part of the difference; NaN where the difference is zero

  double delta_ns() const noexcept { return variant.ns - control.ns; }
};

/// True for time in which devices waited for the host, which `perspective::host_waits` splits up.
inline bool waits_for_host(change const& of) {
  return of.seen_by == perspective::devices &&
         (of.what == entry_kind::edge ||
          (of.what == entry_kind::idle && of.name == to_string(idle_cause::host_bound)));
}

/// True for idle time of devices whose cause the traces do not tell.
inline bool has_no_cause(change const& of) {
  return of.seen_by == perspective::devices && of.what == entry_kind::idle &&
         of.name == to_string(idle_cause::other);
}

/// The changes between two runs. `explained_ns + unexplained_ns` is the difference of the traced
/// runs, which is `difference_ns + tracing_ns()`.
struct trace_difference {
  double difference_ns = 0;     ///< to be accounted for: variant less control
  double control_ns = 0;        ///< traced, one run
  double variant_ns = 0;        ///< traced, one run
  std::vector<change> changes;  ///< by falling size
  double device_ns = 0;         ///< explained by kernels, copies, sets, dependencies, the tracer
  double host_ns = 0;           ///< explained by calls and locks that kept devices waiting
  double explained_ns = 0;      ///< both
  double unexplained_ns = 0;    ///< host code of its own, and causes not recorded
  double traced_ns() const noexcept { return variant_ns - control_ns; }
  /// The part of the traced difference that the tracer added: it delays the host, mostly in calls.
  double tracing_ns() const noexcept { return traced_ns() - difference_ns; }
};

namespace detail {

inline time_breakdown per_run(time_breakdown all, double runs) {
  for (auto& [key, sum] : all) {
    sum = {sum.ns / runs, sum.total / runs, sum.count / runs, sum.bytes / runs};
  }
  return all;
}

inline void largest_first(std::vector<change>& changes) {
  std::stable_sort(changes.begin(), changes.end(), [](change const& a, change const& b) {
    return std::abs(a.delta_ns()) > std::abs(b.delta_ns());
  });
}

/// Adds the entries that differ between two breakdowns.
inline void add_changes(std::vector<change>& to, perspective who, time_breakdown const& control,
                        time_breakdown const& variant) {
  std::map<breakdown_key, std::pair<breakdown_entry, breakdown_entry>> both;
  for (auto const& [key, sum] : control) { both[key].first = sum; }
  for (auto const& [key, sum] : variant) { both[key].second = sum; }
  for (auto const& [key, sums] : both) {
    if (sums.first == sums.second) { continue; }
    to.push_back({who, key.first, key.second, sums.first, sums.second, 0});
  }
}

/// The copy time that kernels hid. More of this time makes a run shorter, so it counts negative.
inline time_breakdown overlap_breakdown(view const& rows) {
  time_breakdown result;
  for (auto const& device : overlap(rows)) {
    for (std::size_t i = 0; i < copy_directions; ++i) {
      auto const& use = device.by_direction[i];
      if (use.count == 0) { continue; }
      auto& sum = result[{entry_kind::copy, std::string{to_string(static_cast<copy_direction>(i))} +
                                                " hidden by kernels"}];
      sum.ns -= static_cast<double>(use.hidden_ns);
      sum.total += static_cast<double>(use.busy_ns);
      sum.count += static_cast<double>(use.count);
      sum.bytes += static_cast<double>(use.bytes);
    }
  }
  return result;
}

inline double length_per_run(traced_runs const& of) {
  return static_cast<double>(run_extent(of.rows).length()) / of.runs;
}

}  // namespace detail

/// Ranks the changes from `control` to `variant` as parts of `difference_ns`, the difference of
/// their times per run without a tracer.
///
/// Operations and waits of devices explain the difference. Time in which devices waited for the
/// host is explained by the calls and locks of the thread that launched late. Throws
/// `std::invalid_argument` unless both show at least part of a run.
inline trace_difference difference(traced_runs const& control, traced_runs const& variant,
                                   double difference_ns) {
  if (!(control.runs > 0) || !(variant.runs > 0)) {
    throw std::invalid_argument("a trace shows " +
                                std::to_string(std::min(control.runs, variant.runs)) +
                                " runs; it has to show more than none");
  }
  trace_difference result;
  result.difference_ns = difference_ns;
  result.control_ns = detail::length_per_run(control);
  result.variant_ns = detail::length_per_run(variant);
  auto const both = [&](perspective who, time_breakdown (*make)(view const&)) {
    detail::add_changes(result.changes, who, detail::per_run(make(control.rows), control.runs),
                        detail::per_run(make(variant.rows), variant.runs));
  };
  both(perspective::devices, device_time_breakdown);
  both(perspective::host_waits, host_wait_breakdown);
  both(perspective::host, host_time_breakdown);
  both(perspective::context, detail::overlap_breakdown);

  for (auto& each : result.changes) {
    auto const delta = each.delta_ns();
    each.share =
        difference_ns == 0 ? std::numeric_limits<double>::quiet_NaN() : delta / difference_ns;
    if (each.seen_by == perspective::devices) {
      if (!waits_for_host(each) && !has_no_cause(each)) { result.device_ns += delta; }
    } else if (each.seen_by == perspective::host_waits && each.what != entry_kind::host_code) {
      result.host_ns += delta;
    }
  }
  result.explained_ns = result.device_ns + result.host_ns;
  result.unexplained_ns = result.traced_ns() - result.explained_ns;
  detail::largest_first(result.changes);
  return result;
}

/// The changes summed by breakdown and kind, without names: the sums of allocations, of locks, of
/// calls and so on, the largest first.
inline std::vector<change> by_kind(trace_difference const& of) {
  std::map<std::pair<perspective, entry_kind>, change> sums;
  for (auto const& each : of.changes) {
    auto& sum = sums[{each.seen_by, each.what}];
    sum.seen_by = each.seen_by;
    sum.what = each.what;
    sum.share += each.share;
    sum.control += each.control;
    sum.variant += each.variant;
  }
  std::vector<change> result;
  for (auto const& [key, sum] : sums) { result.push_back(sum); }
  detail::largest_first(result);
  return result;
}

/// The changes as a table, at most `most` of them (0: all). Times and counts are whole numbers, but
/// for means over several runs.
inline table difference_table(trace_difference const& of, std::size_t most = 20) {
  using enum cell_format;
  auto const format_of = [&](double breakdown_entry::*member) {
    auto const whole = [&](change const& each) {
      return each.control.*member == std::trunc(each.control.*member) &&
             each.variant.*member == std::trunc(each.variant.*member);
    };
    return std::string{std::ranges::all_of(of.changes, whole) ? ", " : ":1, "};
  };
  auto const times = format_of(&breakdown_entry::ns);
  auto const counts = format_of(&breakdown_entry::count);
  table result{"difference", "What Changed",
               parse_columns("Share (%):1, Delta (ns)" + times + "Control (ns)" + times +
                             "Variant (ns)" + times + "Control Count" + counts + "Variant Count" +
                             counts + "Control (MB):3, Variant (MB):3, Seen by:t, Kind:t, Name:t")};
  for (auto const& each : of.changes) {
    if (most != 0 && result.rows() == most) { break; }
    result.add(100 * each.share, each.delta_ns(), each.control.ns, each.variant.ns,
               each.control.count, each.variant.count, each.control.bytes / 1e6,
               each.variant.bytes / 1e6, to_string(each.seen_by), to_string(each.what), each.name);
  }
  return result;
}

}  // namespace assay::trace
