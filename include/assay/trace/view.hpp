// SPDX-License-Identifier: Apache-2.0
/// @file
/// `view`: some rows of a model; `select` makes one by range, device, stream, kernel name and time.
#pragma once

#include <assay/trace/launched.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/pattern.hpp>
#include <assay/trace/work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

/// What of a trace is asked for; each member narrows it further, and a fresh one takes all.
struct filter {
  std::string range = {};  ///< whole names, a glob; what its instances launched or did
  std::optional<std::string> domain =
      {};  ///< of that range: whole names, a glob; "" is the default one
  std::optional<std::int32_t> device = {};
  std::optional<std::uint32_t> stream = {};
  std::string kernel = {};  ///< any part of the whole name, a glob; leaves no copies and sets
  std::optional<span> window = {};  ///< rows that begin inside, so that windows side by side add up
};

/// Some rows of a model, by number and in the model's order. The model must outlive it.
class view {
 public:
  /// All rows.
  view(model const& of) : of_{of} {  // NOLINT: a model is the view of all its rows
    auto const all = [](std::vector<row_index>& rows, std::size_t count) {
      rows.resize(count);
      std::iota(rows.begin(), rows.end(), row_index{0});
    };
    all(kernels, of.kernels.size());
    all(copies, of.copies.size());
    all(sets, of.sets.size());
    all(graph_launches, of.graph_launches.size());
    all(calls, of.calls.size());
    all(synchronizations, of.synchronizations.size());
    all(ranges, of.ranges.size());
    all(memory, of.memory.size());
    all(overheads, of.overheads.size());
  }
  view(model&&) = delete;

  model const& of() const noexcept { return of_; }

  /// The device work, in no order. A graph launch counts only where the trace has none of its
  /// nodes, as their time would else be there twice.
  std::vector<work> device_work() const {
    std::vector<work> all;
    all.reserve(kernels.size() + copies.size() + sets.size() + graph_launches.size());
    for (auto const row : kernels) {
      all.push_back({of().kernels[row].when, work_kind::kernel, row});
    }
    for (auto const row : copies) { all.push_back({of().copies[row].when, work_kind::copy, row}); }
    for (auto const row : sets) { all.push_back({of().sets[row].when, work_kind::set, row}); }
    if (graph_launches.empty()) { return all; }
    std::vector<std::uint64_t> nodes;
    auto const key = [](device_place const& where) {
      return (std::uint64_t{where.process} << 32U) | where.correlation;
    };
    for (auto const& each : all) {
      if (place_of(of(), each).graph_node != 0) { nodes.push_back(key(place_of(of(), each))); }
    }
    std::sort(nodes.begin(), nodes.end());
    for (auto const row : graph_launches) {
      auto const& launch = of().graph_launches[row];
      if (!std::binary_search(nodes.begin(), nodes.end(), key(launch.where))) {
        all.push_back({launch.when, work_kind::graph, row});
      }
    }
    return all;
  }

  std::vector<row_index> kernels, copies, sets, graph_launches, calls, synchronizations, ranges,
      memory, overheads;

 private:
  std::reference_wrapper<model const> of_;
};

namespace detail {

/// Whether a filter's range means this one.
class range_matcher {
 public:
  range_matcher(model const& of, filter const& by)
      : of_{of},
        name_{by.range, pattern_scope::whole},
        domain_{by.domain.value_or(""), pattern_scope::whole},
        any_domain_{!by.domain} {}

  bool operator()(range_record const& each) const {
    if (!on_one_thread(each) || !name_.matches(of_.strings[each.name])) { return false; }
    auto const text = of_.strings[each.domain];
    return any_domain_ || (domain_.empty() ? text.empty() : domain_.matches(text));
  }

 private:
  model const& of_;
  pattern name_, domain_;
  bool any_domain_;
};

/// Marks what the matching ranges hold: work by the calls inside them, all else of their threads by
/// time.
class range_scope {
 public:
  range_scope(model const& of, filter const& by) {
    range_matcher const matches{of, by};
    for (auto const& each : of.ranges) {
      if (matches(each)) { spans_.push_back({each.thread, each.when}); }
    }
    std::sort(spans_.begin(), spans_.end(), [](entry const& a, entry const& b) {
      return std::tuple{a.thread, a.when.begin, b.when.end} <
             std::tuple{b.thread, b.when.begin, a.when.end};
    });
    // One that another holds, or that ends no later than one before it, adds nothing: what is left
    // has rising begins and ends, so one look finds the last that begins in time.
    std::vector<entry> left;
    for (auto const& each : spans_) {
      auto const known = !left.empty() && left.back().thread == each.thread;
      if (!known || each.when.end > left.back().when.end) { left.push_back(each); }
    }
    spans_ = std::move(left);
  }

  /// Whether one of the ranges of the thread holds all of `when`.
  bool holds(thread_key thread, span when) const {
    auto const after = std::upper_bound(
        spans_.begin(), spans_.end(), entry{thread, when}, [](entry const& a, entry const& b) {
          return std::pair{a.thread, a.when.begin} < std::pair{b.thread, b.when.begin};
        });
    if (after == spans_.begin()) { return false; }
    auto const& last = *(after - 1);
    return last.thread == thread && when.end <= last.when.end;
  }

 private:
  struct entry {
    thread_key thread;
    span when;
  };
  std::vector<entry> spans_;
};

}  // namespace detail

/// The rows that a filter leaves. A call goes when all the device work that it launched goes; one
/// that launched none is judged by range and window only. A row of another table than device work
/// is not judged by device, stream and kernel name unless it says where it was.
inline view select(model const& of, filter const& by) {
  view result{of};
  auto const ranged = !by.range.empty() || by.domain.has_value();
  auto const placed = by.device || by.stream || !by.kernel.empty();
  if (!ranged && !placed && !by.window) { return result; }
  detail::range_scope const scope{of, by};
  call_index const calls{of};
  pattern const kernel{by.kernel};
  std::vector<signed char> known(by.kernel.empty() ? 0 : of.strings.size(), -1);
  auto const named = [&](string_id name) {
    if (by.kernel.empty()) { return true; }
    if (known[name] < 0) { known[name] = kernel.matches(of.strings[name]) ? 1 : 0; }
    return known[name] == 1;
  };
  auto const timed = [&](std::int64_t at) {
    return !by.window || (at >= by.window->begin && at < by.window->end);
  };
  auto const here = [&](device_place const& where) {
    return (!by.device || where.device == *by.device) && (!by.stream || where.stream == *by.stream);
  };
  auto const asked_inside = [&](device_place const& where) {
    if (!ranged) { return true; }
    auto const row = calls.find(where);
    return row != no_row && scope.holds(of.calls[row].thread, of.calls[row].when);
  };
  std::vector<bool> launched(of.calls.size()), kept(of.calls.size());
  auto const keep_work = [&](auto& rows, auto const& table, auto const& extra) {
    std::erase_if(rows, [&](row_index row) {
      auto const& each = table[row];
      auto const keep =
          timed(each.when.begin) && here(each.where) && extra(each) && asked_inside(each.where);
      if (!placed) { return !keep; }
      if (auto const call = calls.find(each.where); call != no_row) {
        launched[call] = true;
        if (keep) { kept[call] = true; }
      }
      return !keep;
    });
  };
  auto const any = [&](auto const&) { return by.kernel.empty(); };
  keep_work(result.kernels, of.kernels, [&](kernel_run const& each) { return named(each.name); });
  keep_work(result.copies, of.copies, any);
  keep_work(result.sets, of.sets, any);
  keep_work(result.graph_launches, of.graph_launches, any);
  auto const inside = [&](thread_key thread, span when) {
    return !ranged || scope.holds(thread, when);
  };
  std::erase_if(result.calls, [&](row_index row) {
    auto const& each = of.calls[row];
    return !timed(each.when.begin) || !inside(each.thread, each.when) ||
           (launched[row] && !kept[row]);
  });
  std::erase_if(result.synchronizations, [&](row_index row) {
    auto const& each = of.synchronizations[row];
    return !timed(each.when.begin) || !here(each.where) || !asked_inside(each.where);
  });
  std::erase_if(result.ranges, [&](row_index row) {
    auto const& each = of.ranges[row];
    return !timed(each.when.begin) || !inside(each.thread, each.when);
  });
  std::erase_if(result.memory, [&](row_index row) {
    auto const& each = of.memory[row];
    return !timed(each.at) || (by.device && each.where.device != *by.device) ||
           !inside(each.thread, {each.at, each.at});
  });
  std::erase_if(result.overheads, [&](row_index row) {
    auto const& each = of.overheads[row];
    return !timed(each.when.begin) || !inside(each.thread, each.when);
  });
  return result;
}

}  // namespace assay::trace
