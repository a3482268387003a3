// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sentences on a difference between traces of two sides: its parts, the largest first.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/format.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/host_wait_breakdown.hpp>
#include <assay/trace/kernel_causes.hpp>
#include <assay/trace/labels.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report {

namespace detail {

inline std::string nanoseconds(double ns) { return duration(ns * 1e-9); }
inline std::string nanoseconds(std::int64_t ns) { return nanoseconds(static_cast<double>(ns)); }

inline std::string counted(std::int64_t count, std::string_view one, std::string_view more) {
  return concat({report::count(static_cast<std::uint64_t>(count)), " ", count == 1 ? one : more});
}

inline std::string signed_time(double ns) { return signed_duration(ns * 1e-9); }

inline std::string interval_time(stats::interval const& ns) {
  return duration_change(ns.estimate * 1e-9, ns.low * 1e-9, ns.high * 1e-9);
}

/// A part with its interval and its counts.
inline std::string change_text(trace::change const& each) {
  constexpr auto before =
      std::to_array<std::string_view>({"kernel ", "copies ", "sets ", "devices idle, ", "time ", "",
                                       "", "waiting for a lock, ", "", "host code "});
  auto text =
      concat({before[static_cast<std::size_t>(each.what)],
              shortened(each.what == trace::entry_kind::kernel ? trace::short_kernel_name(each.name)
                                                               : each.name),
              ": ", interval_time(each.delta)});
  if (each.control.count != each.variant.count) {
    text += concat(
        {", ", fixed(each.control.count, 0), " -> ", fixed(each.variant.count, 0), " times"});
  }
  if (each.control.bytes != each.variant.bytes) {
    text += concat({", ", byte_size(each.control.bytes), " -> ", byte_size(each.variant.bytes)});
  }
  return text;
}

inline std::string quantity_of(trace::kernel_cause what, double value) {
  using enum trace::kernel_cause;
  switch (what) {
    case launches:
      return fixed(value, 0);
    case l2_bytes:
    case dram_bytes:
      return byte_size(value);
    case instructions:
      return fixed(value, 0) + " an SM";
    case sm_clock:
      return frequency(value);
    default:
      return percent(value, 1);
  }
}

/// A remedy for a part that costs the variant time; empty where the part names none.
inline std::string_view remedy(trace::change const& of) {
  using enum trace::entry_kind;
  switch (of.what) {
    case copy:
      return "copy in another stream, beside kernels";
    case allocation:
      return "keep buffers, or take them from a pool";
    case lock:
      return "give each thread its own stream and memory";
    case waiting:
      return "wait later, or for an event";
    case call:
      return of.name == trace::on_its_way ? "" : "fuse kernels, or capture a graph";
    default:
      return "";
  }
}

/// `; by counters L2 misses 12.1 % -> 15.7 % +539.1 us, the rest -256.0 us`: the largest cause.
inline std::string largest_cause(trace::kernel_change const& of) {
  if (of.causes.empty()) { return {}; }
  auto const& first = of.causes.front();
  return concat({"; by counters ", to_string(first.what), " ",
                 quantity_of(first.what, first.control), " -> ",
                 quantity_of(first.what, first.variant), " ", signed_time(first.ns), ", the rest ",
                 signed_time(of.delta_ns() - first.ns)});
}

/// A part, with its remedy or the largest cause by counters.
inline std::string part_line(trace::change const& part,
                             std::vector<trace::kernel_change> const& kernels) {
  auto text = (trace::is_of_host(part.what) ? "Waits: " : "Devices: ") + change_text(part);
  for (auto const& split : kernels) {
    if (part.what == trace::entry_kind::kernel && split.name == part.name) {
      text += largest_cause(split);
    }
  }
  auto const advice = part.delta_ns() > 0 ? remedy(part) : std::string_view{};
  return concat({text, advice.empty() ? "" : "; " + std::string{advice}, "."});
}

/// The parts of a difference, at most `most`, then all others in a line each: those that are
/// smaller, and those that are not distinguishable from zero.
inline std::vector<std::string> part_lines(trace::trace_difference const& found, std::size_t most,
                                           std::vector<trace::kernel_change> const& kernels) {
  std::vector<std::string> lines;
  std::vector<trace::change const*> smaller, unclear;
  for (auto const& each : found.changes) {
    if (found.confidence > 0 && !each.distinguishable()) {
      unclear.push_back(&each);
    } else if (lines.size() == most || !trace::is_named(each, found)) {
      smaller.push_back(&each);
    } else {
      lines.push_back(part_line(each, kernels));
    }
  }
  for (auto const& split : kernels) {
    if (!split.name.empty() || split.causes.empty()) { continue; }
    lines.push_back(concat({"Kernels of one side only, together ", signed_time(split.delta_ns()),
                            largest_cause(split), "."}));
  }
  auto const tell = [&](std::vector<trace::change const*> const& some, std::string const& one,
                        std::string const& more) {
    if (some.empty()) { return; }
    auto const count = static_cast<std::int64_t>(some.size());
    lines.push_back(concat({counted(count, one, more), ", together ",
                            interval_time(trace::sum_of(some, found)), "."}));
  };
  tell(smaller, "smaller part", "smaller parts");
  tell(unclear, "part is not distinguishable from zero", "parts are not distinguishable from zero");
  return lines;
}

}  // namespace detail

/// Lines on a difference: what the traced runs differ by, and the largest parts of that. `runs`
/// names what was paired, if there are several pairs.
inline std::vector<std::string> sentences(trace::trace_difference const& found,
                                          std::string const& runs, std::size_t most = 3,
                                          std::vector<trace::kernel_change> const& kernels = {}) {
  if (found.changes.empty()) { return {"The traces do not differ in what they record."}; }
  auto const& added = found.tracing;
  auto const unclear = [&](stats::interval const& of) {
    return found.confidence > 0 && !of.excludes(0) ? ", not distinguishable from zero" : "";
  };
  auto head =
      concat({"Traced, ", found.pairs > 1 ? concat({count(found.pairs), " ", runs}) : "they",
              " differ by ", detail::interval_time(found.traced), unclear(found.traced)});
  if (!std::isnan(added.low) && !std::isnan(added.high)) {
    head += concat({"; tracing itself adds ", detail::interval_time(added), unclear(added)});
  }
  head += found.tracing_taken() ? ", taken off the waits. The parts without it" : ". Its parts";
  if (found.confidence > 0) {
    head += ", whose intervals hold together at " + percent(found.confidence, 0);
  }
  std::vector<std::string> lines{std::move(head) + ":"};
  for (auto& each : detail::part_lines(found, most, kernels)) { lines.push_back(std::move(each)); }
  return lines;
}

}  // namespace assay::report
