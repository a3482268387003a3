// SPDX-License-Identifier: Apache-2.0
/// @file
/// What devices did, as one list, and the API call that asked for each piece.
#pragma once

#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace assay::trace {

/// Where a row stands in its table of the model.
using row_index = std::uint32_t;
inline constexpr row_index no_row = std::numeric_limits<row_index>::max();

/// Which table of the model a piece of device work is a row of.
enum class work_kind : std::uint8_t { kernel, copy, set, graph };

/// A kernel, copy, set or whole graph launch, by reference.
struct work {
  span when;
  work_kind kind = work_kind::kernel;
  row_index row = 0;
  bool operator==(work const&) const = default;
};

/// Where a piece of work ran.
inline device_place const& place_of(model const& of, work const& which) {
  switch (which.kind) {
    case work_kind::kernel:
      return of.kernels[which.row].where;
    case work_kind::copy:
      return of.copies[which.row].where;
    case work_kind::set:
      return of.sets[which.row].where;
    default:
      return of.graph_launches[which.row].where;
  }
}

/// A stream of a device, as traces tell them apart.
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

/// The calls of a model by their correlation. Where a call of the runtime and one of the driver
/// share one, it is that of the runtime, which the user wrote.
class call_index {
 public:
  explicit call_index(model const& of) {
    entries_.reserve(of.calls.size());
    std::vector<std::uint32_t> processes;
    for (row_index row = 0; row < of.calls.size(); ++row) {
      auto const& call = of.calls[row];
      if (call.correlation == 0 || call.layer == api::os) { continue; }
      entries_.emplace_back(key(call.thread.process, call.correlation), row);
      if (processes.empty() || processes.back() != call.thread.process) {
        processes.push_back(call.thread.process);
      }
    }
    auto const before = [&](entry const& a, entry const& b) {
      if (a.first != b.first) { return a.first < b.first; }
      auto const& x = of.calls[a.second];
      auto const& y = of.calls[b.second];
      return std::pair{x.layer, x.when.begin} < std::pair{y.layer, y.when.begin};
    };
    if (!std::is_sorted(entries_.begin(), entries_.end(), before)) {
      std::stable_sort(entries_.begin(), entries_.end(), before);
    }
    std::sort(processes.begin(), processes.end());
    processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
    if (processes.size() == 1) { only_process_ = processes.front(); }
  }

  /// The row of the call that asked for work at `where`, or `no_row`. Work without a process (old
  /// exports) is that of the only process with calls, if there is only one.
  row_index find(device_place const& where) const {
    if (where.correlation == 0) { return no_row; }
    auto const wanted = key(where.process != 0 ? where.process : only_process_, where.correlation);
    // Work comes mostly in the order of its calls, so the next one is looked at first.
    if (hint_ < entries_.size() && entries_[hint_].first == wanted &&
        (hint_ == 0 || entries_[hint_ - 1].first != wanted)) {
      return entries_[hint_++].second;
    }
    auto const found =
        std::lower_bound(entries_.begin(), entries_.end(), wanted,
                         [](entry const& each, std::uint64_t value) { return each.first < value; });
    if (found == entries_.end() || found->first != wanted) { return no_row; }
    hint_ = static_cast<std::size_t>(found - entries_.begin()) + 1;
    return found->second;
  }

 private:
  using entry = std::pair<std::uint64_t, row_index>;
  static constexpr std::uint64_t key(std::uint32_t process, std::uint32_t correlation) noexcept {
    return (std::uint64_t{process} << 32U) | correlation;
  }

  std::vector<entry> entries_;
  std::uint32_t only_process_ = 0;
  mutable std::size_t hint_ = 0;
};

}  // namespace assay::trace
