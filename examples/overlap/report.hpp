// SPDX-License-Identifier: Apache-2.0
/// @file
/// The findings of the overlap experiment: overlap, limits, break-even sizes, and tables.
#pragma once

#include "link_ceilings.hpp"
#include "overlap.hpp"

#include <assay/measure/comparison.hpp>
#include <assay/report/format.hpp>
#include <assay/report/table.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace assay::examples {

/// The share of a device's working time in which two or three stages worked at once. The stages are
/// copies to the device, kernels, and copies to the host. NaN without working time.
inline double overlap_share(trace::model const& of, std::int32_t device) {
  std::array<std::vector<trace::span>, 3> stages;
  for (auto const& each : of.kernels) {
    if (each.where.device == device) { stages[1].push_back(each.when); }
  }
  for (auto const& each : of.copies) {
    auto const direction = trace::direction_of(each.kind);
    if (each.where.device != device) { continue; }
    if (direction == trace::copy_direction::to_device) { stages[0].push_back(each.when); }
    if (direction == trace::copy_direction::to_host) { stages[2].push_back(each.when); }
  }
  std::vector<trace::span> all;
  for (auto const& each : stages) {
    trace::interval_set const busy{each};
    all.insert(all.end(), busy.parts().begin(), busy.parts().end());
  }
  std::array<double, 4> at_depth{};
  auto const depths = trace::time_at_depth(all);
  for (std::size_t i = 0; i < depths.size(); ++i) { at_depth[i] = static_cast<double>(depths[i]); }
  auto const several = at_depth[2] + at_depth[3];
  return several / (at_depth[1] + several);
}

/// The limit of a row, in words.
inline std::string limit_of(overlap_row const& row) {
  auto const milliseconds = [](double seconds) { return report::duration(seconds); };
  auto const gap = row.seconds - row.bound_seconds();
  bool const kernel = row.kernel_seconds >= row.link_seconds;
  std::string const serial = row.kernel_seconds > row.serial_seconds / 2
                                 ? "the kernel, with no copy beside it"
                                 : "the link, one way at a time: the other way and the kernel wait";
  if (row.transfer == "transfer::pageable") {
    return row.seconds < 1.2 * row.serial_seconds
               ? serial
               : "host copy: the driver moves pageable memory through buffers of its own";
  }
  if (row.transfer == "transfer::staged") {
    return row.seconds < 1.15 * row.serial_seconds
               ? serial
               : "host copy: threads move the data through bounce buffers";
  }
  if (row.transfer == "transfer::mapped") {
    return row.seconds < 1.1 * row.bound_seconds()
               ? (kernel ? "the kernel" : "the link, both ways at once")
               : "the kernel's own loads and stores over the link";
  }
  if (row.transfer == "transfer::pinned") { return serial; }
  if (gap <= 0.06 * row.bound_seconds()) {
    return kernel ? "the kernel" : "the link, both ways at once";
  }
  auto const chunks = static_cast<double>(std::max<std::size_t>(1, row.chunks));
  auto const filling = (row.serial_seconds - row.bound_seconds()) / chunks;
  auto const overhead = chunks * row.chunk_seconds;
  if (gap > 2 * (filling + overhead)) { return "starting: events and launches of a short job"; }
  return overhead > filling ? "chunk overhead: " + milliseconds(overhead) + " of copies starting"
                            : "filling and draining: the first and the last chunk go alone";
}

/// The row of a transfer at a size; null where there is none.
inline overlap_row const* find(std::vector<overlap_row> const& rows, std::string_view name,
                               double bytes) {
  for (auto const& row : rows) {
    if (row.transfer == name && row.bytes == bytes) { return &row; }
  }
  return nullptr;
}

/// The smallest measured size from which on `a` is faster than `b`; 0 where it never is. Rows come
/// in ascending sizes.
inline double break_even(std::vector<overlap_row> const& rows, std::string_view a,
                         std::string_view b) {
  double from = 0;
  for (auto const& row : rows) {
    auto const* const other = row.transfer == a ? find(rows, b, row.bytes) : nullptr;
    if (other == nullptr) { continue; }
    if (row.seconds >= other->seconds) { from = 0; }
    if (row.seconds < other->seconds && from == 0) { from = row.bytes; }
  }
  return from;
}

/// The number of uses after which page-locking the arrays once has paid, if `fast` then replaces
/// `row`; 0 if it never pays.
inline double uses_to_pay(overlap_row const& row, overlap_row const& fast,
                          double lock_seconds_per_gib) {
  auto const gain = row.seconds - fast.seconds;
  if (gain <= 0) { return 0; }
  return std::max(1.0, std::ceil(lock_seconds_per_gib * 2 * row.bytes / 0x1p30 / gain));
}

/// Sentences on the sizes from which each way of using pageable memory pays.
inline std::vector<std::string> break_even_lines(std::vector<overlap_row> const& rows,
                                                 examples::link_ceilings const& ceilings) {
  std::vector<std::string> lines;
  auto const from = [&](std::string_view a, std::string_view b) {
    auto const size = break_even(rows, a, b);
    lines.push_back(std::string{a} + " is faster than " + std::string{b} +
                    (size > 0 ? " from " + report::byte_size(size) + " each way on"
                              : " at no size up to the largest measured"));
  };
  from("transfer::staged", "transfer::pageable");
  from("transfer::overlapped", "transfer::mapped");
  lines.back() +=
      "; below, a kernel that reads each byte once does better with no copies that have to start";
  double largest = 0;
  for (auto const& row : rows) { largest = std::max(largest, row.bytes); }
  for (double bytes = 0x1p20; bytes <= largest; bytes *= 16) {
    auto const* const fast = find(rows, "transfer::overlapped", bytes);
    if (fast == nullptr) { continue; }
    for (auto const* name : {"transfer::pageable", "transfer::staged"}) {
      auto const* const slow = find(rows, name, bytes);
      if (slow == nullptr) { continue; }
      auto const registered = uses_to_pay(
          *slow, *fast, ceilings.register_seconds_per_gib + ceilings.unregister_seconds_per_gib);
      auto const allocated = uses_to_pay(
          *slow, *fast, ceilings.allocate_seconds_per_gib + ceilings.free_seconds_per_gib);
      auto text = report::byte_size(bytes) + " each way, against " + name + ": ";
      if (registered == 0) {
        lines.push_back(text + "page-locking never pays");
        continue;
      }
      lines.push_back(text + "registering the arrays once pays from use " +
                      report::fixed(registered, 0) + " on, allocating them page-locked from use " +
                      report::fixed(allocated, 0) + " on");
    }
  }
  return lines;
}

/// The findings in the rows, as answers of the report.
inline std::vector<measure::answer> overlap_answers(std::vector<overlap_row> const& rows,
                                                    examples::link_ceilings const& ceilings) {
  measure::answer shares{"How near does transfer::overlapped come to the bound?", {}};
  measure::answer picks{"How many chunks and streams were picked, and why?", {}};
  for (auto const& row : rows) {
    if (row.transfer != transfer::overlapped::name) { continue; }
    auto const size = report::byte_size(row.bytes) + " each way: ";
    shares.lines.push_back(size + report::percent(row.share(), 1) + " of the bound (" +
                           report::duration(row.seconds) + "); what limits it: " + limit_of(row));
    picks.lines.push_back(size + row.why);
  }
  return {
      shares,
      picks,
      {"From what size on does what pay for pageable memory?", break_even_lines(rows, ceilings)}};
}

inline void print_rows(std::ostream& out, std::vector<overlap_row> const& rows) {
  report::table table{
      {"each way, transfer", "time", "each way at", "of the bound", "overlap", "what limits it"},
      {5}};
  double last = -1;
  for (auto const& row : rows) {
    if (row.bytes != last && last >= 0) { table.add({""}); }
    last = row.bytes;
    table.add({report::byte_size(row.bytes) + "  " + row.transfer, report::duration(row.seconds),
               report::rate(row.bytes / row.seconds, "B"), report::percent(row.share(), 1),
               std::isnan(row.overlap) ? "-" : report::percent(row.overlap, 0), limit_of(row)});
  }
  table.print(out, 140);
}

inline void print_ceilings(std::ostream& out, examples::link_ceilings const& of) {
  auto const rate = [](double value) { return report::rate(value, "B"); };
  report::table table{{"Ceilings of this machine", "to device", "to host", "both"}};
  table.add({"pinned, one way", rate(of.to_device), rate(of.to_host), ""});
  table.add({"pinned, both ways at once", rate(of.to_device_duplex), rate(of.to_host_duplex),
             rate(of.duplex())});
  table.add({"pageable, one way", rate(of.pageable_to_device), rate(of.pageable_to_host), ""});
  for (auto const& each : of.host_copies) {
    table.add({"host memcpy, " + std::to_string(each.threads) +
                   (each.threads == 1 ? " thread" : " threads"),
               "", "", rate(each.bytes_per_second)});
  }
  table.print(out);
  out << "  Link: generation " << of.link.generation << " of " << of.link.max_generation << ", x"
      << of.link.width << " of x" << of.link.max_width << "\n  Pinning a GiB: cudaHostRegister "
      << report::duration(of.register_seconds_per_gib) << " (and "
      << report::duration(of.unregister_seconds_per_gib) << " to undo), cudaMallocHost "
      << report::duration(of.allocate_seconds_per_gib) << " (and "
      << report::duration(of.free_seconds_per_gib) << ")\n";
  for (auto const& each : of.problems) { out << "  NVML: " << each << '\n'; }
  out << '\n';
}

}  // namespace assay::examples
