// SPDX-License-Identifier: Apache-2.0
/// @file
/// `chrome_tracks`: on which track of a Chrome trace each row of a model is drawn, and the names
/// that Kineto's dialect has for what a model holds.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace::chrome {

constexpr std::string_view category(api layer) noexcept {
  constexpr auto layers =
      std::to_array<std::string_view>({"cuda_runtime", "cuda_driver", "os_runtime"});
  return layers[static_cast<std::size_t>(layer)];
}

constexpr std::string_view name_of(sync_kind kind) noexcept {
  constexpr auto names = std::to_array<std::string_view>(
      {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"});
  return names[static_cast<std::size_t>(kind)];
}

/// `Memcpy HtoD (Pinned -> Device)`
inline std::string name_of(memory_copy const& copy) {
  constexpr auto ways =
      std::to_array<std::string_view>({"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                       "DtoA", "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"});
  auto const way = ways[static_cast<std::size_t>(copy.kind)];
  auto const unified = copy.kind >= copy_kind::unified_host_to_device;
  return concat({unified ? "Memcpy Unified " : "Memcpy ", way, " (", to_string(copy.from), " -> ",
                 to_string(copy.to), ")"});
}

/// `Graph 7`: the number of the graph, or of its executable where only that was recorded.
inline std::string name_of(graph_launch const& launch) {
  return "Graph " + std::to_string(launch.graph != 0 ? launch.graph : launch.executable);
}

/// The number of a stream; -1 for none, as viewers expect.
constexpr std::int64_t shown_stream(std::uint32_t stream) noexcept {
  return stream == 0xffff'ffff ? -1 : std::int64_t{stream};
}

/// The time that is taken off all times of a trace. It is zero for traces near their epoch.
/// Thirteen days from the epoch, microseconds as doubles would lose nanoseconds.
constexpr std::int64_t base_of(model const& trace) noexcept {
  constexpr std::int64_t far = std::int64_t{1} << 50U;
  auto const begin = trace.window.begin;
  return begin > -far && begin < far ? 0 : begin;
}

}  // namespace assay::trace::chrome

namespace assay::trace {

/// A range on one stream: from the start of its first operation there to the end of the last.
struct projection {
  row_index range = 0;
  device_place where;  ///< device, context, stream and process
  span when;
};

/// The projections of all ranges on the devices, range by range.
inline std::vector<projection> project(model const& of) {
  view const rows{of};
  std::vector<projection> all;
  for (row_index row = 0; row < of.ranges.size(); ++row) {
    auto const first = static_cast<std::ptrdiff_t>(all.size());
    rows.visit(of.ranges[row], [&](gpu_operation const& each) {
      auto const& where = place_of(of, each);
      auto const known = std::find_if(all.begin() + first, all.end(), [&](projection const& other) {
        return stream_of(other.where) == stream_of(where);
      });
      if (known == all.end()) {
        device_place const on{.device = where.device,
                              .context = where.context,
                              .stream = where.stream,
                              .process = where.process};
        all.push_back({row, on, each.when});
      } else {
        known->when = around(known->when, each.when);
      }
    });
  }
  // The projection of an outer range comes before an equal one of an inner range.
  std::stable_sort(all.begin(), all.end(), [&](projection const& a, projection const& b) {
    auto const& x = of.ranges[a.range].when;
    auto const& y = of.ranges[b.range].when;
    return std::pair{x.begin, y.end} < std::pair{y.begin, x.end};
  });
  // A nanosecond more on either side, as Kineto has it, so that viewers see the work inside.
  for (auto& each : all) { each.when = {each.when.begin - 1, each.when.end + 1}; }
  return all;
}

/// One track: a process or device and a number in it, as viewers call them.
struct chrome_track {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
};

/// Assigns each span of one track to the first lane in which any two spans are apart or one in the
/// other. The spans have to be ordered by begin, and spans of equal begin by falling end.
class lanes {
 public:
  /// Adds the next span and returns its lane.
  std::size_t add(span when) {
    auto const fits = [&](std::vector<std::int64_t>& ends) {
      while (!ends.empty() && ends.back() <= when.begin) { ends.pop_back(); }
      return ends.empty() || when.end <= ends.back();
    };
    auto lane = std::find_if(open_.begin(), open_.end(), fits);
    if (lane == open_.end()) { lane = open_.emplace(lane); }
    lane->push_back(when.end);
    return static_cast<std::size_t>(lane - open_.begin());
  }

 private:
  std::vector<std::vector<std::int64_t>> open_;  // the ends of open spans, innermost last
};

/// Tracks of threads and streams. A track with spans that cross gets further lanes, so that two
/// spans of a lane are apart or nested.
class chrome_tracks {
 public:
  /// The tables of spans. A span encloses spans of equal extent from later tables.
  enum table : std::uint8_t {
    projections,
    ranges,
    calls,
    graphs,
    kernels,
    copies,
    memsets,
    synchronizations,
    overheads
  };
  static constexpr std::size_t tables = 9;

  chrome_tracks(model const& of, std::vector<projection> const& projected) {
    number_devices(of);
    auto const stream = [&](device_place const& where) {
      return track_of({group::stream, device_pid(where.device), where.stream});
    };
    collect(projections, projected, [&](projection const& each) { return stream(each.where); });
    collect(ranges, of.ranges, [&](range_record const& each) { return host(each.thread); });
    collect(calls, of.calls, [&](api_call const& each) { return host(each.thread); });
    collect(graphs, of.graph_launches,
            [&](graph_launch const& each) { return stream(each.where); });
    collect(kernels, of.kernels, [&](kernel_run const& each) { return stream(each.where); });
    collect(copies, of.copies, [&](memory_copy const& each) { return stream(each.where); });
    collect(memsets, of.memsets, [&](memset_operation const& each) { return stream(each.where); });
    collect(synchronizations, of.synchronizations, [&](synchronization const& each) {
      return track_of({group::synchronization, device_pid(each.where.device), each.where.stream});
    });
    collect(overheads, of.overheads, [&](overhead const& each) {
      return track_of({group::overhead, -1, each.thread.thread});
    });
    assign_lanes();
  }

  chrome_track of(table which, std::size_t row) const { return places_[which][row]; }

  /// A device's number among processes: its own, unless a process has that.
  std::int64_t device_pid(std::int32_t device) const {
    auto const moved = moved_devices_.find(device);
    return moved == moved_devices_.end() ? device : moved->second;
  }
  std::map<std::uint32_t, std::uint64_t> const& processes() const noexcept { return processes_; }
  /// The number of a process, counted from 0.
  std::uint64_t process_number(std::uint32_t process) const { return processes_.at(process); }
  std::set<std::int32_t> const& devices() const noexcept { return devices_; }

  /// Calls `visit(track, name, position)` for each track that is not the first of a thread.
  template <class Visit>
  void each_name(Visit&& visit) const {
    for (auto const& [track, name, position] : names_) { visit(track, name, position); }
  }

 private:
  enum class group : std::uint8_t { host, stream, synchronization, overhead };
  using track_key = std::tuple<group, std::int64_t, std::uint32_t>;
  struct slice {
    span when;
    std::uint32_t track;
    table which;
    row_index row;
  };

  void number_devices(model const& of) {
    auto const hosts = [&](auto const& rows) {
      for (auto const& each : rows) { processes_.emplace(each.thread.process, processes_.size()); }
    };
    hosts(of.calls);
    hosts(of.ranges);
    hosts(of.memory);
    hosts(of.threads);
    for (auto const& each : of.devices) { devices_.insert(each.id); }
    auto const add = [&](auto const& rows) {
      for (auto const& each : rows) { devices_.insert(each.where.device); }
    };
    each_device_table(of, add);
    add(of.synchronizations);
    for (auto const device : devices_) {
      if (device >= 0 && processes_.contains(static_cast<std::uint32_t>(device))) {
        moved_devices_[device] = first_free + device;
      }
    }
  }

  std::uint32_t host(thread_key const& thread) {
    return track_of({group::host, thread.process, thread.thread});
  }
  // Rows come mostly in runs of one track.
  std::uint32_t track_of(track_key const& key) {
    if (!keys_.empty() && key == last_->first) { return last_->second; }
    last_ = keys_.emplace(key, static_cast<std::uint32_t>(keys_.size())).first;
    return last_->second;
  }

  template <class Row, class Track>
  void collect(table which, std::vector<Row> const& rows, Track const& track) {
    places_[which].resize(rows.size());
    slices_.reserve(slices_.size() + rows.size());
    for (row_index row = 0; row < rows.size(); ++row) {
      slices_.push_back({rows[row].when, track(rows[row]), which, row});
    }
  }

  void assign_lanes() {
    std::sort(slices_.begin(), slices_.end(), [](slice const& a, slice const& b) {
      return std::tuple{a.track, a.when.begin, b.when.end, a.which, a.row} <
             std::tuple{b.track, b.when.begin, a.when.end, b.which, b.row};
    });
    std::vector<std::pair<std::size_t, std::size_t>> parts(keys_.size());
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      auto& [first, last] = parts[slices_[i].track];
      if (first == last) { first = i; }
      last = i + 1;
    }
    for (auto const& [key, number] : keys_) {
      auto const [first, last] = parts[number];
      lanes assigned;
      std::vector<chrome_track> lane_tracks;
      for (auto i = first; i < last; ++i) {
        auto const lane = assigned.add(slices_[i].when);
        if (lane == lane_tracks.size()) { lane_tracks.push_back(new_lane(key, lane)); }
        places_[slices_[i].which][slices_[i].row] = lane_tracks[lane];
      }
    }
    slices_ = {};
  }

  chrome_track new_lane(track_key const& key, std::size_t lane) {
    auto const [kind, pid, number] = key;
    auto const plain = (kind == group::host || kind == group::stream) && lane == 0;
    chrome_track const track{pid, plain ? std::int64_t{number} : first_free + next_++};
    std::string name = kind == group::host || kind == group::overhead
                           ? "thread " + std::to_string(number)
                       : number == no_stream ? "all streams"
                                             : "stream " + std::to_string(number);
    if (kind == group::synchronization) { name += " (sync)"; }
    if (lane > 0) { name += concat({" (lane ", std::to_string(lane + 1), ")"}); }
    if (kind != group::host || lane > 0) { names_.emplace_back(track, name, names_.size()); }
    return track;
  }

  static constexpr std::uint32_t no_stream = 0xffff'ffff;             // for waits for a context
  static constexpr std::int64_t first_free = std::int64_t{1} << 30U;  // above what systems number

  std::map<track_key, std::uint32_t> keys_;
  std::map<track_key, std::uint32_t>::iterator last_;
  std::vector<slice> slices_;
  std::array<std::vector<chrome_track>, tables> places_;
  std::vector<std::tuple<chrome_track, std::string, std::size_t>> names_;
  std::set<std::int32_t> devices_;
  std::map<std::int32_t, std::int64_t> moved_devices_;
  std::map<std::uint32_t, std::uint64_t> processes_;
  std::int64_t next_ = 0;
};

}  // namespace assay::trace
