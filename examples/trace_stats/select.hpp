// SPDX-License-Identifier: Apache-2.0
/// @file
/// `select`: the part of a trace that a filter takes, by range, device, stream and kernel name.
#pragma once

#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::examples {

/// A choice of rows: each member narrows the choice further, and a default filter takes all rows.
struct row_filter {
  /// A glob of whole range names: takes the rows that instances of these ranges launched or did.
  std::string range = {};
  /// A glob of the whole name of that range's domain; "" is the default domain.
  std::optional<std::string> domain = {};
  std::optional<std::int32_t> device = {};
  std::optional<std::uint32_t> stream = {};
  std::string kernel = {};  ///< a glob of any part of the name; takes no copies and memsets
  /// Takes the rows of all threads of the process in the time of the range; else only the rows of
  /// the thread that opened the range. A step of training launches its backward pass from another
  /// thread.
  bool any_thread = false;

  /// The thread to look up for rows of this thread: with `any_thread`, one for the process.
  trace::thread_key owner(trace::thread_key key) const noexcept {
    return any_thread ? trace::thread_key{key.process, 0} : key;
  }
};

/// The outermost ranges that a filter matches, by thread and begin: the begins and ends of one
/// thread's ranges both rise.
inline std::vector<trace::row_index> outermost_ranges(trace::model const& of,
                                                      row_filter const& by) {
  trace::glob const name{by.range, trace::glob_scope::whole};
  trace::glob const domain{by.domain.value_or(""), trace::glob_scope::whole};
  auto const matches = [&](trace::range_record const& each) {
    auto const usable =
        by.any_thread ? each.style != trace::range_style::mark : on_one_thread(each);
    if (!usable || !name.matches(of.strings[each.name])) { return false; }
    auto const text = of.strings[each.domain];
    return !by.domain || (domain.empty() ? text.empty() : domain.matches(text));
  };
  std::vector<trace::row_index> found;
  for (trace::row_index row = 0; row < of.ranges.size(); ++row) {
    if (matches(of.ranges[row])) { found.push_back(row); }
  }
  std::sort(found.begin(), found.end(), [&](trace::row_index a, trace::row_index b) {
    auto const& x = of.ranges[a];
    auto const& y = of.ranges[b];
    return std::tuple{by.owner(x.thread), x.when.begin, y.when.end, a} <
           std::tuple{by.owner(y.thread), y.when.begin, x.when.end, b};
  });
  auto const holds = [&](trace::row_index outer, trace::row_index inner) {
    auto const& x = of.ranges[outer];
    auto const& y = of.ranges[inner];
    return by.owner(x.thread) == by.owner(y.thread) && y.when.end <= x.when.end;
  };
  found.erase(std::unique(found.begin(), found.end(), holds), found.end());
  return found;
}

/// The rows that a filter takes, in the model's order; all else of the model stays as it is.
///
/// A call that launched operations is taken if one of these is. Device, stream and kernel name do
/// not exclude a call that launched nothing, nor another row that names no device. A filter by
/// range takes no page faults: nothing says which range they belong to.
inline trace::view select(trace::model const& of, row_filter const& by) {
  auto const ranged = !by.range.empty() || by.domain.has_value();
  auto const placed = by.device || by.stream || !by.kernel.empty();
  if (!ranged && !placed) { return of; }
  auto const ranges = outermost_ranges(of, by);
  auto const inside = [&](trace::thread_key thread, trace::span when) {
    if (!ranged) { return true; }
    auto const key = std::pair{by.owner(thread), when.begin};
    auto const after = std::upper_bound(
        ranges.begin(), ranges.end(), key, [&](auto const& wanted, trace::row_index row) {
          return wanted < std::pair{by.owner(of.ranges[row].thread), of.ranges[row].when.begin};
        });
    if (after == ranges.begin()) { return false; }
    auto const& last = of.ranges[*(after - 1)];
    return by.owner(last.thread) == key.first && when.end <= last.when.end;
  };
  trace::call_index const calls{of};
  auto const asked_inside = [&](trace::device_place const& where) {
    if (!ranged) { return true; }
    auto const row = calls.find(where);
    return row != trace::no_row && inside(of.calls[row].thread, of.calls[row].when);
  };
  auto const here = [&](trace::device_place const& where) {
    return (!by.device || where.device == *by.device) && (!by.stream || where.stream == *by.stream);
  };
  trace::glob const kernel{by.kernel};  // an empty one matches every name
  auto named = trace::once_per_name(
      of.strings.size(), [&](trace::string_id name) { return kernel.matches(of.strings[name]); });
  trace::model part;
  part.strings = of.strings;
  part.epoch_ns = of.epoch_ns;
  part.window = of.window;
  part.source = of.source;
  part.notes = of.notes;
  part.devices = of.devices;
  part.threads = of.threads;
  part.lost = of.lost;
  auto const keep = [&](auto& into, auto const& rows, auto const& wanted) {
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(into), wanted);
  };
  std::vector<bool> launched(of.calls.size()), kept(of.calls.size());
  auto const keep_work = [&](auto& into, auto const& rows, auto const& wanted) {
    keep(into, rows, [&](auto const& each) {
      auto const taken = here(each.where) && wanted(each) && asked_inside(each.where);
      if (auto const call = calls.find(each.where); placed && call != trace::no_row) {
        launched[call] = true;
        if (taken) { kept[call] = true; }
      }
      return taken;
    });
  };
  auto const any = [&](auto const&) { return by.kernel.empty(); };
  keep_work(part.kernels, of.kernels,
            [&](trace::kernel_run const& each) { return named(each.name); });
  keep_work(part.copies, of.copies, any);
  keep_work(part.memsets, of.memsets, any);
  keep_work(part.graph_launches, of.graph_launches, any);
  auto const of_thread = [&](auto const& each) { return inside(each.thread, each.when); };
  keep(part.calls, of.calls, [&](trace::api_call const& each) {
    auto const row = static_cast<std::size_t>(&each - of.calls.data());
    return of_thread(each) && (!launched[row] || kept[row]);
  });
  keep(part.ranges, of.ranges, of_thread);
  keep(part.overheads, of.overheads, of_thread);
  keep(part.synchronizations, of.synchronizations, [&](trace::synchronization const& each) {
    return here(each.where) && asked_inside(each.where);
  });
  keep(part.memory, of.memory, [&](trace::memory_event const& each) {
    return (!by.device || each.where.device == *by.device) &&
           inside(each.thread, {each.at, each.at});
  });
  keep(part.host_faults, of.host_faults, [&](auto const&) { return !ranged; });
  keep(part.device_faults, of.device_faults, [&](trace::device_page_faults const& each) {
    return !ranged && (!by.device || each.device == *by.device);
  });
  return {std::move(part), of};
}

}  // namespace assay::examples
