// SPDX-License-Identifier: Apache-2.0
/// @file
/// `gpu_operation`: kernels, copies, memsets and graph launches as one type, with the API calls
/// that launched them.
#pragma once

#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace assay::trace {

/// The number of a row in its table of the model.
using row_index = std::uint32_t;
inline constexpr row_index no_row = std::numeric_limits<row_index>::max();

/// The table of the model that holds an operation.
enum class operation_kind : std::uint8_t { kernel, copy, memset, graph };

/// A kernel, copy, memset or whole graph launch, by its row.
struct gpu_operation {
  span when;
  operation_kind kind = operation_kind::kernel;
  row_index row = 0;
  row_index call = no_row;  ///< the call that launched it; `no_row`: not in the trace
  auto operator<=>(gpu_operation const&) const = default;
};

/// True for a copy or a memset.
constexpr bool is_memory(operation_kind kind) noexcept {
  return kind == operation_kind::copy || kind == operation_kind::memset;
}

/// The device and stream in which an operation ran.
inline device_place const& place_of(model const& of, gpu_operation const& which) {
  switch (which.kind) {
    case operation_kind::kernel:
      return of.kernels[which.row].where;
    case operation_kind::copy:
      return of.copies[which.row].where;
    case operation_kind::memset:
      return of.memsets[which.row].where;
    default:
      return of.graph_launches[which.row].where;
  }
}

/// The name of a graph that was recorded whole, and counts as a kernel.
inline constexpr std::string_view whole_graph_label = "[graph]";

/// The name of an operation: of a kernel the whole one, or the `brief` one if it is known.
inline std::string operation_name(model const& of, gpu_operation const& which, bool brief = false) {
  if (which.kind == operation_kind::kernel) {
    auto const& row = of.kernels[which.row];
    return std::string{of.strings[brief && row.short_name != 0 ? row.short_name : row.name]};
  }
  return which.kind == operation_kind::copy     ? "[copy]"
         : which.kind == operation_kind::memset ? "[set]"
                                                : std::string{whole_graph_label};
}

/// A stream of a device, as traces number it.
struct stream_key {
  std::uint32_t process = 0;
  std::int32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  auto operator<=>(stream_key const&) const = default;
};

inline stream_key stream_of(device_place const& where) noexcept {
  return {where.process, where.device, where.context, where.stream};
}

/// The calls of a model by their correlation. A runtime call and the driver call beneath it can
/// share a correlation; the index then gives the runtime call, which the user wrote.
class call_index {
 public:
  /// The model must outlive the index.
  explicit call_index(model const& of) : of_{&of} {
    rows_.reserve(of.calls.size());
    std::vector<std::uint32_t> processes;
    for (row_index row = 0; row < of.calls.size(); ++row) {
      auto const& call = of.calls[row];
      if (call.correlation == 0 || call.layer == api::os) { continue; }
      rows_.push_back(row);
      if (processes.empty() || processes.back() != call.thread.process) {
        processes.push_back(call.thread.process);
      }
    }
    auto const before = [&](row_index a, row_index b) {
      if (key_of(a) != key_of(b)) { return key_of(a) < key_of(b); }
      auto const& x = of.calls[a];
      auto const& y = of.calls[b];
      if (x.layer != y.layer) { return x.layer < y.layer; }
      return x.when.begin != y.when.begin ? x.when.begin < y.when.begin : a < b;
    };
    if (!std::is_sorted(rows_.begin(), rows_.end(), before)) {
      std::sort(rows_.begin(), rows_.end(), before);
    }
    std::sort(processes.begin(), processes.end());
    processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
    if (processes.size() == 1) { only_process_ = processes.front(); }
  }

  /// The row of the call that launched the operation at `where`, or `no_row`. Old exports do not
  /// name the process of an operation: the only process with calls is then taken.
  row_index find(device_place const& where) const {
    if (where.correlation == 0) { return no_row; }
    auto const wanted = key(where.process != 0 ? where.process : only_process_, where.correlation);
    // Operations come mostly in the order of their calls, so the next row is compared first.
    if (hint_ < rows_.size() && key_of(rows_[hint_]) == wanted &&
        (hint_ == 0 || key_of(rows_[hint_ - 1]) != wanted)) {
      return rows_[hint_++];
    }
    auto const found =
        std::lower_bound(rows_.begin(), rows_.end(), wanted,
                         [&](row_index each, std::uint64_t value) { return key_of(each) < value; });
    if (found == rows_.end() || key_of(*found) != wanted) { return no_row; }
    hint_ = static_cast<std::size_t>(found - rows_.begin()) + 1;
    return *found;
  }

 private:
  static constexpr std::uint64_t key(std::uint32_t process, std::uint32_t correlation) noexcept {
    return (std::uint64_t{process} << 32U) | correlation;
  }

  std::uint64_t key_of(row_index row) const noexcept {
    auto const& call = of_->calls[row];
    return key(call.thread.process, call.correlation);
  }

  model const* of_;
  std::vector<row_index> rows_;  ///< by their keys, which take four times the room
  std::uint32_t only_process_ = 0;
  mutable std::size_t hint_ = 0;
};

/// The begin of a call; before all times for `no_row`.
inline std::int64_t begin_of_call(model const& of, row_index call) {
  return call == no_row ? std::numeric_limits<std::int64_t>::min() : of.calls[call].when.begin;
}

/// The moments at which each stream was told to wait for an event.
class stream_waits {
 public:
  explicit stream_waits(model const& of) {
    for (auto const& each : of.synchronizations) {
      if (each.kind != sync_kind::stream_wait) { continue; }
      begins_[stream_of(each.where)].push_back(each.when.begin);
    }
    for (auto& [stream, begins] : begins_) { std::sort(begins.begin(), begins.end()); }
  }

  /// True if the stream was told to wait at `from` or later, and not after `until`.
  bool between(std::int64_t from, std::int64_t until, stream_key stream) const {
    auto const found = begins_.find(stream);
    if (found == begins_.end()) { return false; }
    auto const after = std::upper_bound(found->second.begin(), found->second.end(), until);
    return after != found->second.begin() && *(after - 1) >= from;
  }

 private:
  std::map<stream_key, std::vector<std::int64_t>> begins_;
};

/// True if one thread opened and closed the range, so that calls can lie inside it.
inline bool on_one_thread(range_record const& range) noexcept {
  return range.style != range_style::mark &&
         (range.end_thread == thread_key{} || range.end_thread == range.thread);
}

}  // namespace assay::trace
