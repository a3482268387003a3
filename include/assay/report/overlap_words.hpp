// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sentences on the overlap of copies and kernels, and its obstacles.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/nsys/overlap_reasons.hpp>
#include <assay/report/format.hpp>
#include <assay/report/trace_words.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/labels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

namespace detail {

/// A part of a whole as a percentage; `percent` would show three decimals of nothing.
inline std::string part_text(std::int64_t part, std::int64_t whole) {
  if (part == 0 || whole == 0) { return "0 %"; }
  return percent(static_cast<double>(part) / static_cast<double>(whole));
}

constexpr std::string_view obstacle_words(trace::overlap_obstacle what) noexcept {
  constexpr std::array<std::string_view, trace::overlap_obstacles> words{
      "the device ran no kernel that they could run beside",
      "the kernels next to them are in their own stream, which runs one thing after the other",
      "they or the kernels next to them are in the legacy default stream, which waits for all "
      "others",
      "the host memory is pageable, so that the driver stages the copy and its call returns late",
      "they were asked for by a call that returns only when the copy is done",
      "the host waited for the one before it asked for the other",
      "the host asked for the other only when the one was half over",
      "the later one's stream waited for an event",
      "they were behind a copy of the same direction: one engine makes them in turn",
      "asked for in time, but not run at once, for no reason that the trace records"};
  return words[static_cast<std::size_t>(what)];
}

/// The records that show an obstacle: the worst copy, the kernel and the call beside it.
inline std::string evidence(trace::model const& of, trace::overlap_reason const& reason) {
  if (reason.copy == trace::no_row) { return {}; }
  auto const& copy = of.copies[reason.copy];
  auto text = concat({"worst: ", trace::copy_label(copy.kind), " of ",
                      byte_size(static_cast<double>(copy.bytes)), " at ",
                      nanoseconds(copy.when.begin - of.window.begin), " in stream ",
                      std::to_string(copy.where.stream)});
  if (reason.kernel != trace::no_row) {
    trace::gpu_operation const beside{{}, reason.kernel_kind, reason.kernel};
    text += beside.kind == trace::operation_kind::graph
                ? ", a whole graph"
                : ", kernel " + shortened(trace::short_kernel_name(operation_name(of, beside)));
    text += " in stream " + std::to_string(place_of(of, beside).stream);
  }
  if (reason.call != 0) {
    text += ", call " + std::string{trace::plain_name(of.strings[reason.call])};
  }
  return text;
}

}  // namespace detail

/// Answers "do copies overlap kernels here, how much, and if not, why", one sentence a line. `of`
/// is the model that was explained.
inline std::vector<std::string> overlap_sentences(trace::overlap_explanation const& found,
                                                  trace::model const& of) {
  using detail::counted, detail::nanoseconds;
  std::vector<std::string> lines;
  auto const migrations = [&] {
    for (auto const& device : found.devices) {
      auto const& use = device.use(trace::copy_direction::migration);
      if (use.count == 0) { continue; }
      lines.push_back(
          concat({trace::device_label(of, device.device), " migrated pages of unified memory in ",
                  counted(use.count, "transfer", "transfers"), ", ",
                  byte_size(static_cast<double>(use.bytes)), " in ", nanoseconds(use.busy_ns),
                  ", while kernels ran for ", detail::part_text(use.hidden_ns, use.busy_ns),
                  " of it; such a transfer is no copy that a stream could order."}));
    }
  };
  if (found.copies_ns == 0) {
    lines.push_back("There are no copies.");
    migrations();
    return lines;
  }
  auto const how = found.hidden_ns == 0      ? "Copies do not overlap kernels"
                   : found.exposed_ns() == 0 ? "Copies overlap kernels all the time"
                                             : "Copies overlap kernels in part";
  lines.push_back(
      concat({how, ": kernels ran for ", detail::part_text(found.hidden_ns, found.copies_ns),
              " of the ", nanoseconds(found.copies_ns), " of copies; ",
              nanoseconds(found.exposed_ns()), " are exposed."}));
  for (auto const& device : found.devices) {
    for (std::size_t i = 0; i < trace::copy_directions; ++i) {
      auto const& use = device.by_direction[i];
      auto const migration = i == static_cast<std::size_t>(trace::copy_direction::migration);
      if (use.busy_ns == 0 || migration) { continue; }
      lines.push_back(concat({trace::device_label(of, device.device), ", ",
                              to_string(static_cast<trace::copy_direction>(i)), ": ",
                              counted(use.count, "copy", "copies"), ", ",
                              byte_size(static_cast<double>(use.bytes)), " at ",
                              rate(use.gigabytes_per_second() * 1e9, "B"), ", ",
                              detail::part_text(use.hidden_ns, use.busy_ns), " hidden."}));
    }
    if (device.duplex_ns > 0) {
      lines.push_back(
          concat({trace::device_label(of, device.device), " copied both ways at once for ",
                  nanoseconds(device.duplex_ns), "."}));
    }
  }
  migrations();
  for (auto const& reason : found.reasons) {
    auto line = concat({counted(reason.copies, "copy", "copies"), ", exposed for ",
                        nanoseconds(reason.exposed_ns), ": ", detail::obstacle_words(reason.what)});
    if (reason.alone_ns < reason.exposed_ns) {
      line += reason.alone_ns == 0
                  ? "; each of these copies has another cause too"
                  : concat({"; for ", nanoseconds(reason.alone_ns), " this is the only cause"});
    }
    lines.push_back(concat({line, " (", detail::evidence(of, reason), ")."}));
  }
  return lines;
}

}  // namespace assay::report
