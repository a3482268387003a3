// SPDX-License-Identifier: Apache-2.0
/// @file
/// `stages_of`: the stages of one call on a device, and what its kernels did, as named numbers.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/metrics.hpp>
#include <assay/trace/model.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {

using namespace trace;  // it reads a trace throughout

/// Numbers of one call, by names that end in their unit.
using named_numbers = std::vector<std::pair<std::string, double>>;

/// The stages of the only call in a trace: submission, copies to the device, its work, copies to
/// the host, and the rest of the host's wait. They follow each other from the first API call to the
/// end of the last and add up to that time. Submission ends with the begin of the first operation:
/// the recorder itself makes it longer, by some 30 us. The host's call of a copy from pageable
/// memory does a part of the copy, which begins with it. A copy ends when the device and the host's
/// call are done with it. Beside them stand the sums of kernels and of copies, and the time between
/// the first and the last operation in which the device ran none. Empty without operations and
/// calls.
inline named_numbers stages_of(model const& of) {
  if (of.calls.empty() || of.kernels.size() + of.copies.size() + of.memsets.size() == 0) {
    return {};
  }
  span call = of.calls.front().when;
  for (auto const& each : of.calls) { call = around(call, each.when); }
  call_index const calls{of};
  std::vector<span> kernels, in, back, all;
  std::int64_t begin = call.end, in_end = call.begin, work_end = call.begin, back_end = call.begin;
  for (auto const& each : of.kernels) {
    kernels.push_back(each.when);
    begin = std::min(begin, each.when.begin);
    work_end = std::max(work_end, each.when.end);
  }
  for (auto const& each : of.memsets) {
    begin = std::min(begin, each.when.begin);
    work_end = std::max(work_end, each.when.end);
  }
  for (auto const& each : of.copies) {
    auto const row = calls.find(each.where);
    bool const by_host = each.from == memory_kind::pageable && row != no_row;
    begin = std::min(begin, by_host ? of.calls[row].when.begin : each.when.begin);
    auto const end =
        row == no_row ? each.when.end : std::max(each.when.end, of.calls[row].when.end);
    bool const to_host = each.kind == copy_kind::device_to_host;
    (to_host ? back : in).push_back(each.when);
    (to_host ? back_end : in_end) = std::max(to_host ? back_end : in_end, end);
  }
  each_device_table(of, [&](auto const& rows) {
    for (auto const& each : rows) { all.push_back(each.when); }
  });
  begin = std::max(begin, call.begin);
  in_end = std::max(in_end, begin);
  work_end = std::max(work_end, in_end);
  back_end = std::max(back_end, work_end);
  auto const seconds = [](std::int64_t ns) { return 1e-9 * static_cast<double>(ns); };
  auto const sum = [&](std::vector<span> const& some) {
    std::int64_t ns = 0;
    for (auto const& each : some) { ns += each.length(); }
    return seconds(ns);
  };
  interval_set const busy{all};
  return {{"submit_seconds", seconds(begin - call.begin)},
          {"copies_in_seconds", seconds(in_end - begin)},
          {"work_seconds", seconds(work_end - in_end)},
          {"copies_back_seconds", seconds(back_end - work_end)},
          {"sync_seconds", seconds(std::max(call.end, back_end) - back_end)},
          {"kernels_seconds", sum(kernels)},
          {"to_device_seconds", sum(in)},
          {"to_host_seconds", sum(back)},
          {"idle_seconds", seconds(busy.extent().length() - busy.length())}};
}

/// The metrics of `kernel_counters`.
inline metric_set kernel_metrics() {
  using namespace metric;
  return {std::string{gpu_time},   std::string{occupancy}, std::string{dram_read},
          std::string{dram_write}, std::string{l2_hit},    std::string{ipc}};
}

/// The counters of all kernels of a call: sums of bytes, and means of the rest by the time of each
/// kernel. Empty where counters cannot be read; a metric that was not read is left out.
inline named_numbers kernel_counters(counter_values const& of) {
  named_numbers made;
  if (!of.status) { return made; }
  auto const add = [&](char const* name, auto const& value, bool is_mean) {
    double sum = 0, weights = 0;
    for (auto const& kernel : of.ranges) {
      double const weight = is_mean ? kernel[metric::gpu_time] : 1;
      sum += weight * value(kernel);
      weights += weight;
    }
    if (!of.ranges.empty() && std::isfinite(sum)) {
      made.emplace_back(name, is_mean ? sum / weights : sum);
    }
  };
  auto const one = [](std::string_view metric) {
    return [metric](counter_range const& kernel) { return kernel[metric]; };
  };
  add("occupancy_percent", one(metric::occupancy), true);
  add(
      "dram_bytes",
      [](counter_range const& kernel) {
        return kernel[metric::dram_read] + kernel[metric::dram_write];
      },
      false);
  add("l2_hit_percent", one(metric::l2_hit), true);
  add("ipc", one(metric::ipc), true);
  return made;
}

}  // namespace assay::examples
