// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tables with a row for each event, as `nsys stats` has them.
#pragma once

#include <assay/nsys/reports_nvtx.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/nesting.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::trace {

/// MB/s as nsys computes them: operations of this length that fit in a second, as a whole number,
/// times the bytes of one. Nothing for an operation without length.
constexpr std::optional<double> throughput_mb(std::uint64_t bytes,
                                              std::int64_t duration_ns) noexcept {
  if (duration_ns <= 0) { return std::nullopt; }
  return static_cast<double>(1'000'000'000 / duration_ns) * static_cast<double>(bytes) / 1e6;
}

namespace detail {

/// The rows of `cuda_gpu_trace`, with the names of few values looked up once.
class gpu_trace_rows {
 public:
  gpu_trace_rows(model const& of, table& to) : of_{of}, to_{to}, known_(of.strings.size()) {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      memory_[i] = to.keep(to_string(static_cast<memory_kind>(i)));
    }
    for (std::size_t i = 0; i < copy_.size(); ++i) {
      copy_[i] = to.keep(copy_label(static_cast<copy_kind>(i)));
    }
    set_ = to.keep(memset_label);
  }

  void add(kernel_run const& each) { add(each, &each, std::nullopt, {}, {}, name(each.name)); }
  void add(memory_copy const& each) {
    add(each, nullptr, each.bytes, memory(each.from), memory(each.to),
        copy_[std::min(static_cast<std::size_t>(each.kind), copy_.size() - 1)]);
  }
  void add(memset_operation const& each) {
    add(each, nullptr, each.bytes, memory(each.kind), {}, set_);
  }

 private:
  template <class Row>
  void add(Row const& each, kernel_run const* kernel, std::optional<std::uint64_t> bytes,
           table_text from, table_text to, table_text name) {
    auto const& at = each.where;
    auto const mega = [](auto value) { return static_cast<double>(value) / 1e6; };
    auto const of_kernel = [&](auto const& member) {
      return kernel == nullptr ? std::nullopt : std::optional{member(*kernel)};
    };
    auto const size = [&](dimensions kernel_run::*of, std::size_t axis) {
      return of_kernel([&](kernel_run const& run) { return (run.*of)[axis]; });
    };
    to_.add(each.when.begin, each.when.length(), at.correlation, size(&kernel_run::grid, 0),
            size(&kernel_run::grid, 1), size(&kernel_run::grid, 2), size(&kernel_run::block, 0),
            size(&kernel_run::block, 1), size(&kernel_run::block, 2),
            of_kernel([](kernel_run const& run) { return run.registers_per_thread; }),
            of_kernel([&](kernel_run const& run) { return mega(run.static_shared_bytes); }),
            of_kernel([&](kernel_run const& run) { return mega(run.dynamic_shared_bytes); }),
            bytes ? std::optional{mega(*bytes)} : std::nullopt,
            bytes ? throughput_mb(*bytes, each.when.length()) : std::nullopt, from, to,
            device(at.device), at.context,
            at.green_context == 0 ? std::nullopt : std::optional{at.green_context}, at.stream,
            name);
  }

  table_text name(string_id number) {
    auto& known = known_[number];
    if (known.number == 0) { known = to_.keep(of_.strings[number]); }
    return known;
  }
  table_text memory(memory_kind kind) const {
    return memory_[std::min(static_cast<std::size_t>(kind), memory_.size() - 1)];
  }
  table_text device(std::int32_t number) {
    auto const [at, added] = devices_.try_emplace(number);
    if (added) { at->second = to_.keep(device_label(of_, number)); }
    return at->second;
  }

  model const& of_;
  table& to_;
  std::vector<table_text> known_;
  std::array<table_text, 8> memory_;
  std::array<table_text, 14> copy_;
  table_text set_;
  std::map<std::int32_t, table_text> devices_;
};

}  // namespace detail

/// Every kernel, copy and set in order of its start.
inline table cuda_gpu_trace(view const& rows) {
  table result{
      "cuda_gpu_trace", "CUDA GPU Trace",
      parse_columns("Start (ns), Duration (ns), CorrId, GrdX, GrdY, GrdZ, BlkX, BlkY, BlkZ, "
                    "Reg/Trd, StcSMem (MB):3, DymSMem (MB):3, Bytes (MB):3, Throughput (MB/s):3, "
                    "SrcMemKd:t, DstMemKd:t, Device:t, Ctx, GreenCtx, Strm, Name:t")};
  auto const& of = rows.of();
  detail::gpu_trace_rows out{of, result};
  for (auto const& each : rows.operations()) {
    switch (each.kind) {
      case operation_kind::kernel:
        out.add(of.kernels[each.row]);
        break;
      case operation_kind::copy:
        out.add(of.copies[each.row]);
        break;
      case operation_kind::memset:
        out.add(of.memsets[each.row]);
        break;
      case operation_kind::graph:
        break;  // nsys has a report of its own for these
    }
  }
  return result;
}

/// Every push/pop range in order of start, with its place in the nest of its thread. RangeId
/// counts from 1 in that order.
inline table nvtx_pushpop_trace(view const& rows) {
  table result{"nvtx_pushpop_trace", "NVTX Push/Pop Range Trace",
               parse_columns(
                   "Start (ns), End (ns), Duration (ns), DurChild (ns), DurNonChild (ns), "
                   "Name:t, PID, TID, Lvl, NumChild, RangeId, ParentId, RangeStack:t, NameTree:t")};
  auto const& of = rows.of();
  auto const all = nest(of);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& each = all[i];
    auto const& range = of.ranges[each.row];
    auto const top = each.parent == no_row;
    auto const name = range_label(of, range);
    std::string tree;
    for (std::uint32_t level = 0; level < std::min(each.level, detail::deepest_told); ++level) {
      tree += "--";
    }
    result.add(range.when.begin, range.when.end, range.when.length(), each.child_ns,
               range.when.length() - each.child_ns, name, range.thread.process, range.thread.thread,
               each.level, each.children, i + 1,
               top ? std::optional<std::size_t>{} : std::optional<std::size_t>{each.parent + 1U},
               detail::stack_text(all, i), tree + name);
  }
  return result;
}

}  // namespace assay::trace
