// SPDX-License-Identifier: Apache-2.0
/// @file
/// `rank_collector`: what the comparison of ranks keeps of each trace, so that a trace can go
/// before the next one is read.
#pragma once

#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/strings.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

/// The part of one rank in a collective: one communication kernel.
struct collective_run {
  span when;                       ///< by the clock of the rank's file
  string_id name = 0;              ///< without parameters and template arguments
  string_id range = 0;             ///< the innermost range around its launch; 0: none
  std::uint32_t blocks = 0;        ///< of its grid: NCCL takes more for larger messages
  std::uint64_t communicator = 0;  ///< its number, which all ranks share; 0: unknown
};

/// The collectives of one communicator in one stream, in their order.
struct collective_stream {
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint64_t communicator = 0;
  std::vector<collective_run> runs;
};

/// What a device does from a moment on, until the next one.
struct rank_activity {
  std::int64_t from = 0;
  string_id what = 0;  ///< `kernel gemm`, `idle, host bound`
};

/// A rank: one device of one process.
struct rank_trace {
  std::size_t file = 0;  ///< the number of its file
  std::uint32_t process = 0;
  std::int32_t device = 0;
  std::string device_name;
  std::vector<collective_stream> streams;  ///< by their first collective
  std::vector<collective_stream> pairs;    ///< of kernels that move data between two ranks
  std::vector<rank_activity> timeline;
  std::int64_t end = 0;  ///< of its last operation
  std::int64_t point_to_point = 0;
  std::int64_t point_to_point_ns = 0;
  std::int64_t whole_graphs = 0;  ///< graph launches, which hide their kernels

  std::int64_t collectives() const noexcept {
    std::int64_t sum = 0;
    for (auto const& each : streams) { sum += static_cast<std::int64_t>(each.runs.size()); }
    return sum;
  }
};

/// A file of ranks, with what says how its clock stands to others.
struct rank_file {
  std::string path;
  std::string host;           ///< empty: unknown
  std::int64_t epoch_ns = 0;  ///< since 1970 (UTC); 0: unknown
};

/// Gathers the ranks of traces, one trace after the other.
class rank_collector {
 public:
  /// Adds the ranks of a trace, by process and device. Collectives are the communication kernels of
  /// `rows`; what devices did between them comes from the whole trace.
  void add(std::string path, view const& rows) {
    auto const& of = rows.whole();
    files_.push_back({std::move(path), of.host, of.epoch_ns});
    first_ = ranks_.size();
    numbers_.clear();
    if (&of == &rows.of()) {
      add_timelines(rows);
    } else {
      add_timelines(view{of});
    }
    add_collectives(rows);
    std::sort(ranks_.begin() + static_cast<std::ptrdiff_t>(first_), ranks_.end(),
              [](auto const& a, auto const& b) {
                return std::tuple{a.process, a.device} < std::tuple{b.process, b.device};
              });
  }

  /// Called after all traces. Of two ranks each knows its partner, so that transfers between two
  /// ranks count as collectives of both.
  void finish() {
    if (ranks_.size() != 2) { return; }
    for (auto& each : ranks_) {
      std::ranges::move(each.pairs, std::back_inserter(each.streams));
      each.pairs.clear();
      each.point_to_point = each.point_to_point_ns = 0;
      by_first_run(each.streams);
    }
  }

  std::vector<rank_trace> const& ranks() const noexcept { return ranks_; }
  std::vector<rank_file> const& files() const noexcept { return files_; }
  string_table const& strings() const noexcept { return strings_; }

 private:
  std::size_t number_of(model const& of, device_place const& where) {
    auto const [at, fresh] =
        numbers_.try_emplace(std::pair{where.process, where.device}, ranks_.size());
    if (fresh) {
      auto& made = ranks_.emplace_back();
      made.file = files_.size() - 1;
      made.process = where.process;
      made.device = where.device;
      made.device_name = device_label(of, where.device);
      made.end = std::numeric_limits<std::int64_t>::min();
    }
    return at->second;
  }

  /// The activities of each device: the operation that began first, else the cause of idle time.
  void add_timelines(view const& rows) {
    auto const& of = rows.of();
    detail::idle_classifier const classifier{rows};
    std::map<stream_key, detail::idle_classifier::last_work> last;
    auto kernel = once_per_name(of.strings.size(), [&](string_id name) {
      return strings_.intern("kernel " + short_kernel_name(of.strings[name]));
    });
    auto const what = [&](gpu_operation const& each) {
      switch (each.kind) {
        case operation_kind::kernel:
          return kernel(of.kernels[each.row].name);
        case operation_kind::copy:
          return strings_.intern("copy " + std::string{to_string(of.copies[each.row].kind)});
        case operation_kind::memset:
          return strings_.intern("set");
        default:
          return strings_.intern("a whole graph");
      }
    };
    for (auto const& each : rows.operations()) {
      auto const& where = place_of(of, each);
      auto& rank = ranks_[number_of(of, where)];
      auto& before = last[stream_of(where)];
      if (!rank.timeline.empty() && each.when.begin > rank.end) {
        auto const gap = classifier.classify({rank.end, each.when.begin}, each, before);
        tell(rank, rank.end, strings_.intern("idle, " + std::string{to_string(gap.cause)}));
      }
      if (each.when.end > rank.end) {
        tell(rank, std::max(each.when.begin, rank.end), what(each));
        rank.end = each.when.end;
      }
      rank.whole_graphs += each.kind == operation_kind::graph ? 1 : 0;
      before = {each.call, each.when.end};
    }
  }

  static void tell(rank_trace& of, std::int64_t from, string_id what) {
    if (of.timeline.empty() || of.timeline.back().what != what) {
      of.timeline.push_back({from, what});
    }
  }

  void add_collectives(view const& rows) {
    auto const& of = rows.of();
    glob const communication{communication_kernels};
    glob const pairs{point_to_point};
    enum class role : std::uint8_t { none, collective, pair };
    auto role_of = once_per_name(of.strings.size(), [&](string_id name) {
      auto const text = of.strings[name];
      return !communication.matches(text) ? role::none
             : pairs.matches(text)        ? role::pair
                                          : role::collective;
    });
    auto short_name = once_per_name(of.strings.size(), [&](string_id name) {
      return strings_.intern(short_kernel_name(of.strings[name]));
    });
    std::map<run_key, std::vector<collective_run>> streams;
    std::vector<launch> launches;
    for (auto const& each : of.kernels) {
      auto const what = role_of(each.name);
      if (what == role::none) { continue; }
      if (what == role::pair) {
        auto& rank = ranks_[number_of(of, each.where)];
        ++rank.point_to_point;
        rank.point_to_point_ns += each.when.length();
      }
      run_key const key{stream_of(each.where), what == role::pair};
      auto& runs = streams[key];
      if (auto const call = rows.calls().find(each.where); call != no_row) {
        launches.push_back({of.calls[call].thread, of.calls[call].when.begin, key, runs.size()});
      }
      runs.push_back(
          {each.when, short_name(each.name), 0, each.grid[0] * each.grid[1] * each.grid[2], 0});
    }
    name_ranges(rows.whole(), launches, streams);
    for (auto& [key, runs] : streams) {
      std::ranges::stable_sort(runs, {}, [](auto const& each) { return each.when; });
      auto const& [stream, paired] = key;
      auto& rank = ranks_[numbers_.at({stream.process, stream.device})];
      std::map<std::uint64_t, std::vector<collective_run>> by_communicator;
      for (auto const& each : runs) { by_communicator[each.communicator].push_back(each); }
      for (auto& [communicator, own] : by_communicator) {
        (paired ? rank.pairs : rank.streams)
            .push_back({stream.context, stream.stream, communicator, std::move(own)});
      }
    }
    for (auto at = first_; at < ranks_.size(); ++at) { by_first_run(ranks_[at].streams); }
  }

  static void by_first_run(std::vector<collective_stream>& streams) {
    std::ranges::stable_sort(streams, {},
                             [](auto const& each) { return each.runs.front().when.begin; });
  }

  using run_key = std::pair<stream_key, bool>;  ///< true: kernels between two ranks

  struct launch {
    thread_key thread;
    std::int64_t at;
    run_key stream;
    std::size_t run;
  };

  /// Gives collectives the innermost range in which they were launched. NCCL's own ranges only
  /// repeat the name of the collective; their payload is the communicator.
  void name_ranges(model const& of, std::vector<launch>& launches,
                   std::map<run_key, std::vector<collective_run>>& streams) {
    std::vector<row_index> ranges;
    for (row_index row = 0; row < of.ranges.size(); ++row) {
      auto const& each = of.ranges[row];
      if (each.style == range_style::push_pop && on_one_thread(each)) { ranges.push_back(row); }
    }
    auto const of_nccl = [&](range_record const& each) {
      return of.strings[each.domain] == "NCCL" || of.strings[each.name].starts_with("nccl");
    };
    std::ranges::sort(ranges, {}, [&](row_index row) {
      auto const& each = of.ranges[row];
      return std::tuple{each.thread, each.when.begin, -each.when.end};
    });
    std::ranges::sort(launches, {},
                      [](auto const& each) { return std::tuple{each.thread, each.at}; });
    std::vector<row_index> open;
    std::size_t next = 0;
    for (auto const& each : launches) {
      auto const key = [&](row_index row) {
        return std::tuple{of.ranges[row].thread, of.ranges[row].when.begin};
      };
      for (; next < ranges.size() && key(ranges[next]) <= std::tuple{each.thread, each.at};
           ++next) {
        open.push_back(ranges[next]);
      }
      while (!open.empty() && (of.ranges[open.back()].thread != each.thread ||
                               of.ranges[open.back()].when.end < each.at)) {
        open.pop_back();
      }
      auto& run = streams[each.stream][each.run];
      for (auto at = open.rbegin(); at != open.rend(); ++at) {
        auto const& range = of.ranges[*at];
        if (range.thread != each.thread || range.when.end < each.at) { continue; }
        if (!of_nccl(range)) {
          run.range = strings_.intern(without_instance(of.strings[range.name]));
          break;
        }
        if (run.communicator == 0) { run.communicator = range.payload; }
      }
    }
  }

  /// Kernels of NCCL that move data between two ranks: of more, no rank waits for all others.
  static constexpr char const* point_to_point = "SendRecv";

  std::vector<rank_file> files_;
  std::vector<rank_trace> ranks_;
  string_table strings_;
  std::size_t first_ = 0;  ///< of the ranks of the file being added
  std::map<std::pair<std::uint32_t, std::int32_t>, std::size_t> numbers_;
};

/// The number of devices of processes that ran collectives.
inline std::size_t count_ranks(model const& of) {
  glob const communication{communication_kernels};
  auto communicates = once_per_name(
      of.strings.size(), [&](string_id name) { return communication.matches(of.strings[name]); });
  std::set<std::pair<std::uint32_t, std::int32_t>> ranks;
  for (auto const& each : of.kernels) {
    if (communicates(each.name)) { ranks.emplace(each.where.process, each.where.device); }
  }
  return ranks.size();
}

}  // namespace assay::trace
