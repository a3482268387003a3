// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sentences on a trace: the changes between two runs as parts of their difference.
#pragma once

#include <assay/report/format.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/kernel_causes.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

namespace detail {

inline std::string nanoseconds(double ns) { return duration(ns * 1e-9); }
inline std::string nanoseconds(std::int64_t ns) { return nanoseconds(static_cast<double>(ns)); }

inline std::string counted(std::int64_t count, std::string_view one, std::string_view more) {
  return report::count(static_cast<std::uint64_t>(count)) + " " +
         std::string{count == 1 ? one : more};
}

/// A name in a sentence: whole template arguments would bury the sentence.
inline std::string short_name(std::string_view name, std::size_t most = 60) {
  if (name.size() <= most) { return std::string{name}; }
  while (most > 0 && (static_cast<unsigned char>(name[most]) & 0xC0U) == 0x80U) { --most; }
  return std::string{name.substr(0, most)} + "...";
}

inline std::string signed_time(double ns) { return signed_duration(ns * 1e-9); }

/// A part beyond the whole, against which another part counts, is no share that a reader can use.
inline bool is_share(double share) { return std::abs(share) <= 1; }

inline std::string share_text(double share, std::string_view of_what = " of the difference") {
  return is_share(share) ? " (" + percent(share, 0) + std::string{of_what} + ")" : std::string{};
}

inline std::string interval_time(stats::interval const& ns) {
  return duration_change(ns.estimate * 1e-9, ns.low * 1e-9, ns.high * 1e-9);
}

inline std::string change_text(trace::change const& each) {
  constexpr auto before =
      std::to_array<std::string_view>({"kernel ", "copies ", "sets ", "devices idle, ", "time ", "",
                                       "", "waiting for a lock, ", "", "host code "});
  auto text = std::string{before[static_cast<std::size_t>(each.what)]} + short_name(each.name) +
              ": " + interval_time(each.delta) + share_text(each.share);
  if (each.control.count != each.variant.count) {
    text += ", " + fixed(each.control.count, 0) + " -> " + fixed(each.variant.count, 0) + " times";
  }
  if (each.control.bytes != each.variant.bytes) {
    text += ", " + byte_size(each.control.bytes) + " -> " + byte_size(each.variant.bytes);
  }
  return text + ".";
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

/// A kernel's change split up by its counters, in one sentence.
inline std::string kernel_change_text(trace::kernel_change const& of, double whole) {
  auto text = of.name.empty() ? "By counters, kernels of one side only, together " +
                                    signed_time(of.delta_ns()) + share_text(of.share) + ":"
                              : std::string{"Of that, by counters:"};
  for (auto const& each : of.causes) {
    text.append(" ").append(to_string(each.what)).append(" ");
    text += quantity_of(each.what, each.control) + " -> " + quantity_of(each.what, each.variant) +
            " " + signed_time(each.ns);
    text += share_text(each.share, "") + ",";
  }
  text += of.causes.empty() ? " no counter tells why" : " left " + signed_time(of.unexplained_ns);
  if (!of.causes.empty() && !std::isnan(of.share)) {
    text += share_text(of.unexplained_ns / whole, "");
  }
  return text + ".";
}

/// The sums of the host's calls, allocations, locks, waits and own code, in one line.
inline std::string kinds_text(trace::trace_difference const& found, trace::perspective who) {
  constexpr auto words = std::to_array<std::string_view>(
      {"", "", "", "", "", "calls", "allocations", "locks", "waiting for devices", "its own code"});
  std::string text;
  for (auto const& each : trace::by_kind(found)) {
    if (each.seen_by != who || each.delta_ns() == 0) { continue; }
    text += (text.empty() ? "" : ", ") + std::string{words[static_cast<std::size_t>(each.what)]} +
            " " + signed_time(each.delta_ns()) + share_text(each.share, "");
  }
  return text;
}

}  // namespace detail

/// Lines on a difference: the explained part, then the largest changes of devices and of the host.
///
/// Devices and host have at most `most` lines each, without changes below a hundredth. A kernel
/// with counters has a second line, which splits the same time by its counters.
inline std::vector<std::string> sentences(trace::trace_difference const& found,
                                          std::size_t most = 5,
                                          std::vector<trace::kernel_change> const& kernels = {}) {
  std::vector<std::string> lines;
  auto const whole = found.difference_ns;
  auto const share = [&](double ns) {
    return whole == 0 || !found.has_shares ? std::string{} : detail::share_text(ns / whole);
  };
  if (whole == 0 && found.changes.empty()) {
    return {"The traces do not differ in what they record."};
  }
  lines.push_back("Of " + detail::signed_time(whole) + ", devices explain " +
                  detail::signed_time(found.device_ns) + share(found.device_ns) +
                  ", calls and locks that kept them waiting " + detail::signed_time(found.host_ns) +
                  share(found.host_ns) + "; unexplained: " +
                  detail::signed_time(found.unexplained_ns) + share(found.unexplained_ns) + ".");
  auto const least = std::abs(whole) / 100;
  if (std::abs(found.tracing_ns()) > least) {
    lines.push_back("These sum up to " + detail::signed_time(found.traced_ns()) +
                    ", by which the traced runs differ: tracing itself added " +
                    detail::signed_time(found.tracing_ns()) + share(found.tracing_ns()) + ".");
  }
  auto const by_counters = [&](trace::kernel_change const& split) {
    lines.push_back(detail::kernel_change_text(split, whole));
  };
  auto const tell = [&](trace::perspective who, std::string const& head) {
    std::size_t told = 0;
    for (auto const& each : found.changes) {
      if (each.seen_by != who || std::abs(each.delta_ns()) < least || told == most) { continue; }
      // The first line does not count these among what devices explain.
      lines.push_back((waits_for_host(each) ? "Devices waiting for the host (split up below): "
                       : has_no_cause(each) ? "Devices, unexplained: "
                                            : head) +
                      detail::change_text(each));
      ++told;
      if (who != trace::perspective::devices || each.what != trace::entry_kind::kernel) {
        continue;
      }
      for (auto const& split : kernels) {
        if (split.name == each.name) { by_counters(split); }
      }
    }
  };
  tell(trace::perspective::devices, "Devices: ");
  for (auto const& split : kernels) {
    if (split.name.empty() && std::abs(split.delta_ns()) >= least) { by_counters(split); }
  }
  auto const tell_kinds = [&](trace::perspective who, std::string const& head) {
    if (auto const kinds = detail::kinds_text(found, who); !kinds.empty()) {
      lines.push_back(head + kinds + ".");
    }
  };
  tell_kinds(trace::perspective::host_waits, "While devices waited for the host, by kind: ");
  tell(trace::perspective::host_waits, "While devices waited: ");
  tell_kinds(trace::perspective::host, "Host, per thread, by kind: ");
  tell(trace::perspective::host, "Host, per thread: ");
  tell(trace::perspective::context, "Beside: ");
  return lines;
}

}  // namespace assay::report
