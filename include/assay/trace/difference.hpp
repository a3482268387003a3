// SPDX-License-Identifier: Apache-2.0
/// @file
/// `difference`: what changed between the traces of two runs, and how much of the difference in
/// their times that accounts for.
#pragma once

#include <assay/trace/host_ledger.hpp>
#include <assay/trace/ledger.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/table.hpp>
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

/// Rows that show `runs` runs of one thing, one after the other.
struct traced_runs {
  view rows;
  double runs = 1;
};

/// Whose view of a run a change belongs to. The parts of `devices` sum up to the traced time, and
/// so do those of `host`, so one nanosecond can stand in both. `late_host` splits up what devices
/// waited for the host: it sums up to the rows of `devices` that say so. `context` is told beside
/// them and sums up to nothing.
enum class seen_by : std::uint8_t { devices, late_host, host, context };

constexpr std::string_view label(seen_by who) noexcept {
  constexpr std::array<std::string_view, 4> names{"device", "late host", "host", "context"};
  return names[static_cast<std::size_t>(who)];
}

/// One thing that differs. Numbers are of one run.
struct change {
  seen_by view = seen_by::devices;
  entry_kind what = entry_kind::kernel;
  std::string name;
  ledger_sum control, variant;
  double share = 0;  ///< of the difference; NaN where that is zero

  double delta_ns() const noexcept { return variant.ns - control.ns; }
};

/// What changed between two runs. `explained_ns + unexplained_ns` is what the traced runs differ
/// by, which is `difference_ns + tracing_ns()`.
struct trace_difference {
  double difference_ns = 0;     ///< to be accounted for: variant less control
  double control_ns = 0;        ///< traced, one run
  double variant_ns = 0;        ///< traced, one run
  std::vector<change> changes;  ///< all that differs, what accounts for most first
  double device_ns = 0;         ///< explained by kernels, copies, sets, dependencies, the tracer
  double host_ns = 0;           ///< explained by calls and locks that kept devices waiting
  double explained_ns = 0;      ///< both
  double unexplained_ns = 0;    ///< host code of its own, and causes not recorded
  double traced_ns() const noexcept { return variant_ns - control_ns; }
  /// What tracing itself added to the difference: it holds the host up, mostly in calls.
  double tracing_ns() const noexcept { return traced_ns() - difference_ns; }
};

namespace detail {

inline ledger per_run(ledger all, double runs) {
  for (auto& [key, sum] : all) {
    for (auto const member :
         {&ledger_sum::ns, &ledger_sum::total, &ledger_sum::count, &ledger_sum::bytes}) {
      sum.*member /= runs;
    }
  }
  return all;
}

/// Adds what differs between two ledgers.
inline void add_changes(std::vector<change>& to, seen_by who, ledger const& control,
                        ledger const& variant) {
  std::map<ledger_key, std::pair<ledger_sum, ledger_sum>> both;
  for (auto const& [key, sum] : control) { both[key].first = sum; }
  for (auto const& [key, sum] : variant) { both[key].second = sum; }
  for (auto const& [key, sums] : both) {
    if (sums.first == sums.second) { continue; }
    to.push_back({who, key.first, key.second, sums.first, sums.second, 0});
  }
}

/// Copy time that kernels hid: more of it makes a run shorter, so it counts negative.
inline ledger overlap_ledger(view const& rows) {
  ledger result;
  for (auto const& device : overlap(rows)) {
    for (std::size_t i = 0; i < copy_directions; ++i) {
      auto const& use = device.by_direction[i];
      if (use.count == 0) { continue; }
      auto& sum = result[{entry_kind::copy, std::string{label(static_cast<copy_direction>(i))} +
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

/// Ranks what changed from `control` to `variant` by how much of `difference_ns` (the difference of
/// their times without a tracer, of one run) it accounts for. Devices explain the difference by
/// what they did and waited for; where they waited for the host, by the calls and locks in which
/// the thread was that asked late. Throws `std::invalid_argument` unless both show at least part of
/// a run.
inline trace_difference difference(traced_runs const& control, traced_runs const& variant,
                                   double difference_ns, host_names const& names = {}) {
  if (!(control.runs > 0) || !(variant.runs > 0)) {
    throw std::invalid_argument("a trace shows " +
                                std::to_string(std::min(control.runs, variant.runs)) +
                                " runs; it has to show more than none");
  }
  trace_difference result;
  result.difference_ns = difference_ns;
  result.control_ns = detail::length_per_run(control);
  result.variant_ns = detail::length_per_run(variant);
  auto const both = [&](seen_by who, auto&& make) {
    detail::add_changes(result.changes, who, detail::per_run(make(control.rows), control.runs),
                        detail::per_run(make(variant.rows), variant.runs));
  };
  both(seen_by::devices, [](view const& rows) { return device_ledger(rows); });
  both(seen_by::late_host, [&](view const& rows) { return late_host_ledger(rows, names); });
  both(seen_by::host, [&](view const& rows) { return host_ledger(rows, names); });
  both(seen_by::context, [](view const& rows) { return detail::overlap_ledger(rows); });

  for (auto& each : result.changes) {
    auto const delta = each.delta_ns();
    each.share =
        difference_ns == 0 ? std::numeric_limits<double>::quiet_NaN() : delta / difference_ns;
    if (each.view == seen_by::devices) {
      auto const split_up =
          each.what == entry_kind::edge ||
          (each.what == entry_kind::idle && each.name == label(idle_cause::host_late));
      auto const unknown = each.what == entry_kind::idle && each.name == label(idle_cause::other);
      if (!split_up && !unknown) { result.device_ns += delta; }
    } else if (each.view == seen_by::late_host && each.what != entry_kind::own_code) {
      result.host_ns += delta;
    }
  }
  result.explained_ns = result.device_ns + result.host_ns;
  result.unexplained_ns = result.traced_ns() - result.explained_ns;
  std::stable_sort(result.changes.begin(), result.changes.end(),
                   [](change const& a, change const& b) {
                     return std::abs(a.delta_ns()) > std::abs(b.delta_ns());
                   });
  return result;
}

/// The changes summed by who saw them and what they are, without names: what allocations, locks and
/// launches each come to. What accounts for most first.
inline std::vector<change> by_kind(trace_difference const& of) {
  std::map<std::pair<seen_by, entry_kind>, change> sums;
  auto const add = [](ledger_sum& to, ledger_sum const& more) {
    for (auto const member :
         {&ledger_sum::ns, &ledger_sum::total, &ledger_sum::count, &ledger_sum::bytes}) {
      to.*member += more.*member;
    }
  };
  for (auto const& each : of.changes) {
    auto& sum = sums[{each.view, each.what}];
    sum.view = each.view;
    sum.what = each.what;
    sum.share += each.share;
    add(sum.control, each.control);
    add(sum.variant, each.variant);
  }
  std::vector<change> result;
  for (auto const& [key, sum] : sums) { result.push_back(sum); }
  std::stable_sort(result.begin(), result.end(), [](change const& a, change const& b) {
    return std::abs(a.delta_ns()) > std::abs(b.delta_ns());
  });
  return result;
}

/// The changes as a table, at most `most` of them (0: all).
inline table difference_table(trace_difference const& of, std::size_t most = 20) {
  using enum cell_format;
  table result{"difference",
               "What Changed",
               {{"Share (%)", one_decimal},
                {"Delta (ns)", one_decimal},
                {"Control (ns)", one_decimal},
                {"Variant (ns)", one_decimal},
                {"Control Count", one_decimal},
                {"Variant Count", one_decimal},
                {"Control (MB)", three_decimals},
                {"Variant (MB)", three_decimals},
                {"Seen by", text},
                {"Kind", text},
                {"Name", text}}};
  for (auto const& each : of.changes) {
    if (most != 0 && result.rows() == most) { break; }
    result.add(100 * each.share, each.delta_ns(), each.control.ns, each.variant.ns,
               each.control.count, each.variant.count, each.control.bytes / 1e6,
               each.variant.bytes / 1e6, label(each.view), label(each.what), each.name);
  }
  return result;
}

}  // namespace assay::trace
