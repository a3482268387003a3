// SPDX-License-Identifier: Apache-2.0
/// @file
/// `view`: some rows of a model; `select` makes one by range, device, stream, kernel name and time.
#pragma once

#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/model.hpp>

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

/// A choice of rows: each member narrows the choice further, and a default filter takes all rows.
struct filter {
  /// A glob of whole range names: takes the rows that instances of these ranges launched or did.
  std::string range = {};
  /// A glob of the whole name of that range's domain; "" is the default domain.
  std::optional<std::string> domain = {};
  std::optional<std::int32_t> device = {};
  std::optional<std::uint32_t> stream = {};
  std::string kernel = {};          ///< a glob of any part of the name; takes no copies and memsets
  std::optional<span> window = {};  ///< rows that begin inside, so that windows side by side add up
  /// Takes the rows of all threads of the process in the time of the range, and not of the thread
  /// that opened the range alone: a step of training launches its backward pass from another
  /// thread.
  bool any_thread = false;
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
    all(memsets, of.memsets.size());
    all(graph_launches, of.graph_launches.size());
    all(calls, of.calls.size());
    all(synchronizations, of.synchronizations.size());
    all(ranges, of.ranges.size());
    all(memory, of.memory.size());
    all(overheads, of.overheads.size());
  }
  view(model&&) = delete;

  model const& of() const noexcept { return of_; }

  std::vector<gpu_operation> kernel_operations() const {
    std::vector<gpu_operation> all;
    all.reserve(kernels.size());
    for (auto const row : kernels) {
      all.push_back({of().kernels[row].when, operation_kind::kernel, row});
    }
    return all;
  }

  /// The operations of devices, in no order. A graph launch is left out if the trace has nodes of
  /// the launch, since their time would count twice.
  std::vector<gpu_operation> gpu_operations() const {
    auto all = kernel_operations();
    all.reserve(kernels.size() + copies.size() + memsets.size() + graph_launches.size());
    for (auto const row : copies) {
      all.push_back({of().copies[row].when, operation_kind::copy, row});
    }
    for (auto const row : memsets) {
      all.push_back({of().memsets[row].when, operation_kind::memset, row});
    }
    auto const graphs = whole_graphs();
    all.insert(all.end(), graphs.begin(), graphs.end());
    return all;
  }

  /// The graph launches whose nodes the trace does not have.
  std::vector<gpu_operation> whole_graphs() const {
    std::vector<gpu_operation> all;
    if (graph_launches.empty()) { return all; }
    std::vector<std::uint64_t> nodes;
    auto const key = [](device_place const& where) {
      return (std::uint64_t{where.process} << 32U) | where.correlation;
    };
    auto const add = [&](auto const& rows, auto const& table) {
      for (auto const row : rows) {
        if (table[row].where.graph_node != 0) { nodes.push_back(key(table[row].where)); }
      }
    };
    add(kernels, of().kernels);
    add(copies, of().copies);
    add(memsets, of().memsets);
    std::sort(nodes.begin(), nodes.end());
    for (auto const row : graph_launches) {
      auto const& launch = of().graph_launches[row];
      if (!std::binary_search(nodes.begin(), nodes.end(), key(launch.where))) {
        all.push_back({launch.when, operation_kind::graph, row});
      }
    }
    return all;
  }

  std::vector<row_index> kernels, copies, memsets, graph_launches, calls, synchronizations, ranges,
      memory, overheads;

 private:
  std::reference_wrapper<model const> of_;
};

namespace detail {

/// Compares ranges with the range and domain of a filter.
class range_matcher {
 public:
  range_matcher(model const& of, filter const& by)
      : of_{of},
        name_{by.range, glob_scope::whole},
        domain_{by.domain.value_or(""), glob_scope::whole},
        any_domain_{!by.domain},
        any_thread_{by.any_thread} {}

  bool operator()(range_record const& each) const {
    auto const usable = any_thread_ ? each.style != range_style::mark : on_one_thread(each);
    if (!usable || !name_.matches(of_.strings[each.name])) { return false; }
    auto const text = of_.strings[each.domain];
    return any_domain_ || (domain_.empty() ? text.empty() : domain_.matches(text));
  }

 private:
  model const& of_;
  glob name_, domain_;
  bool any_domain_, any_thread_;
};

/// The thread to which a filter counts the rows of a thread.
inline thread_key owner(thread_key key, filter const& by) noexcept {
  return by.any_thread ? thread_key{key.process, 0} : key;
}

/// The outermost ranges among `rows` that a filter matches, by thread and begin: the begins and
/// ends of one thread's ranges both rise.
inline std::vector<row_index> outermost_ranges(model const& of, std::vector<row_index> const& rows,
                                               filter const& by) {
  range_matcher const matches{of, by};
  std::vector<row_index> found;
  for (auto const row : rows) {
    if (matches(of.ranges[row])) { found.push_back(row); }
  }
  std::sort(found.begin(), found.end(), [&](row_index a, row_index b) {
    auto const& x = of.ranges[a];
    auto const& y = of.ranges[b];
    return std::tuple{owner(x.thread, by), x.when.begin, y.when.end, a} <
           std::tuple{owner(y.thread, by), y.when.begin, x.when.end, b};
  });
  std::vector<row_index> result;
  for (auto const row : found) {
    auto const& each = of.ranges[row];
    auto const inner = !result.empty() &&
                       owner(of.ranges[result.back()].thread, by) == owner(each.thread, by) &&
                       each.when.end <= of.ranges[result.back()].when.end;
    if (!inner) { result.push_back(row); }
  }
  return result;
}

/// The times of the ranges that a filter matches, to ask what lies inside one of them.
class range_scope {
 public:
  range_scope(view const& all, filter const& by) : any_thread_{by.any_thread} {
    for (auto const row : outermost_ranges(all.of(), all.ranges, by)) {
      auto const& range = all.of().ranges[row];
      spans_.push_back({owner(range.thread, by), range.when});
    }
  }

  /// True if one range of the thread contains all of `when`.
  bool holds(thread_key thread, span when) const {
    if (any_thread_) { thread.thread = 0; }
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
  bool any_thread_;
};

}  // namespace detail

/// The rows that a filter takes.
///
/// A call that launched operations is taken if one of these is. Device, stream and kernel name do
/// not exclude a call that launched nothing, nor another row that names no device.
inline view select(model const& of, filter const& by) {
  view result{of};
  auto const ranged = !by.range.empty() || by.domain.has_value();
  auto const placed = by.device || by.stream || !by.kernel.empty();
  if (!ranged && !placed && !by.window) { return result; }
  detail::range_scope const scope{result, by};
  call_index const calls{of};
  glob const kernel{by.kernel};  // an empty one matches every name
  auto named = once_per_name(of.strings.size(),
                             [&](string_id name) { return kernel.matches(of.strings[name]); });
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
  keep_work(result.memsets, of.memsets, any);
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
