// SPDX-License-Identifier: Apache-2.0
/// @file
/// `select`: the part of a trace that a filter takes, by range, device, stream and kernel name;
/// `instances`: a part for each instance of a range.
#pragma once

#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

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

  bool has_range() const noexcept { return !range.empty() || domain.has_value(); }
  /// The thread to look up for rows of this thread: with `any_thread`, one for the process.
  thread_key owner(thread_key key) const noexcept {
    return any_thread ? thread_key{key.process, 0} : key;
  }
};

/// The outermost ranges that a filter matches, by thread and begin: the begins and ends of one
/// thread's ranges both rise.
inline std::vector<row_index> outermost_ranges(model const& of, row_filter const& by) {
  glob const name{by.range, glob_scope::whole};
  glob const domain{by.domain.value_or(""), glob_scope::whole};
  std::vector<row_index> found;
  for (row_index row = 0; row < of.ranges.size(); ++row) {
    auto const& each = of.ranges[row];
    auto const usable = by.any_thread ? each.style != range_style::mark : on_one_thread(each);
    if (!usable || !name.matches(of.strings[each.name])) { continue; }
    auto const text = of.strings[each.domain];
    if (by.domain && !(domain.empty() ? text.empty() : domain.matches(text))) { continue; }
    found.push_back(row);
  }
  std::sort(found.begin(), found.end(), [&](row_index a, row_index b) {
    auto const& x = of.ranges[a];
    auto const& y = of.ranges[b];
    return std::tuple{by.owner(x.thread), x.when.begin, y.when.end, a} <
           std::tuple{by.owner(y.thread), y.when.begin, x.when.end, b};
  });
  auto const holds = [&](row_index outer, row_index inner) {
    auto const& x = of.ranges[outer];
    auto const& y = of.ranges[inner];
    return by.owner(x.thread) == by.owner(y.thread) && y.when.end <= x.when.end;
  };
  found.erase(std::unique(found.begin(), found.end(), holds), found.end());
  return found;
}

namespace detail {

/// Finds the range that something happened in, among the outermost ranges of a filter.
struct range_finder {
  model const& of;
  row_filter const& by;
  std::vector<row_index> const& ranges;
  static constexpr auto none = static_cast<std::size_t>(-1);

  /// The place in `ranges`, or `none`.
  std::size_t find(thread_key thread, span when) const {
    auto const key = std::pair{by.owner(thread), when.begin};
    auto const after =
        std::upper_bound(ranges.begin(), ranges.end(), key, [&](auto const& wanted, row_index row) {
          return wanted < std::pair{by.owner(of.ranges[row].thread), of.ranges[row].when.begin};
        });
    if (after == ranges.begin()) { return none; }
    auto const& last = of.ranges[*(after - 1)];
    auto const holds = by.owner(last.thread) == key.first && when.end <= last.when.end;
    return holds ? static_cast<std::size_t>(after - ranges.begin()) - 1 : none;
  }
};

/// The rows that a filter takes, those of the range `ranges[i]` in the part `part_of[i]`. A filter
/// without a range has one part.
inline std::vector<view> parts_of(model const& of, row_filter const& by,
                                  std::vector<row_index> const& ranges,
                                  std::vector<std::size_t> const& part_of, std::size_t count) {
  constexpr auto none = range_finder::none;
  auto const ranged = by.has_range();
  range_finder const finder{of, by, ranges};
  auto const inside = [&](thread_key thread, span when) -> std::size_t {
    if (!ranged) { return 0; }
    auto const at = finder.find(thread, when);
    return at == none ? none : part_of[at];
  };
  std::vector<model> parts(count);
  for (auto& part : parts) {
    part.strings = of.strings;
    part.epoch_ns = of.epoch_ns;
    part.host = of.host;
    part.window = of.window;
    part.source = of.source;
    part.notes = of.notes;
    part.devices = of.devices;
    part.threads = of.threads;
    part.lost = of.lost;
  }
  auto const keep = [&]<class Row>(std::vector<Row> model::*rows, auto const& place) {
    for (auto const& each : of.*rows) {
      if (std::size_t const part = place(each); part < count) {
        (parts[part].*rows).push_back(each);
      }
    }
  };
  call_index const calls{of};
  auto const asked_inside = [&](device_place const& where) {
    if (!ranged) { return std::size_t{0}; }
    auto const row = calls.find(where);
    return row == no_row ? none : inside(of.calls[row].thread, of.calls[row].when);
  };
  auto const here = [&](device_place const& where) {
    return (!by.device || where.device == *by.device) && (!by.stream || where.stream == *by.stream);
  };
  auto const placed = by.device || by.stream || !by.kernel.empty();
  std::vector<bool> launched(of.calls.size()), kept(of.calls.size());
  auto const keep_work = [&](auto rows, auto const& wanted) {
    keep(rows, [&](auto const& each) {
      auto const part = here(each.where) && wanted(each) ? asked_inside(each.where) : none;
      if (auto const call = calls.find(each.where); placed && call != no_row) {
        launched[call] = true;
        if (part != none) { kept[call] = true; }
      }
      return part;
    });
  };
  glob const kernel{by.kernel};  // an empty one matches every name
  auto named = once_per_name(of.strings.size(),
                             [&](string_id name) { return kernel.matches(of.strings[name]); });
  auto const any = [&](auto const&) { return by.kernel.empty(); };
  keep_work(&model::kernels, [&](kernel_run const& each) { return named(each.name); });
  keep_work(&model::copies, any);
  keep_work(&model::memsets, any);
  keep_work(&model::graph_launches, any);
  auto const of_thread = [&](auto const& each) { return inside(each.thread, each.when); };
  keep(&model::calls, [&](api_call const& each) {
    auto const row = static_cast<std::size_t>(&each - of.calls.data());
    return !launched[row] || kept[row] ? of_thread(each) : none;
  });
  keep(&model::ranges, of_thread);
  keep(&model::overheads, of_thread);
  keep(&model::synchronizations, [&](synchronization const& each) {
    return here(each.where) ? asked_inside(each.where) : none;
  });
  auto const on_device = [&](std::int32_t device) { return !by.device || device == *by.device; };
  keep(&model::memory, [&](memory_event const& each) {
    return on_device(each.where.device) ? inside(each.thread, {each.at, each.at}) : none;
  });
  if (!ranged) {
    keep(&model::host_faults, [](auto const&) { return std::size_t{0}; });
    keep(&model::device_faults,
         [&](auto const& each) { return on_device(each.device) ? std::size_t{0} : none; });
  }
  std::vector<view> made;
  for (auto& part : parts) { made.emplace_back(std::move(part), of); }
  return made;
}

}  // namespace detail

/// The rows that a filter takes, in the model's order; all else of the model stays as it is.
///
/// A call that launched operations is taken if one of these is. Device, stream and kernel name do
/// not exclude a call that launched nothing, nor another row that names no device. A filter by
/// range takes no page faults: nothing says which range they belong to.
inline view select(model const& of, row_filter const& by) {
  if (!by.has_range() && !by.device && !by.stream && by.kernel.empty()) { return of; }
  auto const ranges = outermost_ranges(of, by);
  return detail::parts_of(of, by, ranges, std::vector<std::size_t>(ranges.size()), 1).front();
}

/// The pieces of device work that other threads launched in the time of the filter's ranges, and
/// that the filter leaves out.
inline std::size_t launched_by_others(model const& of, row_filter const& by) {
  if (!by.has_range() || by.any_thread) { return 0; }
  auto all = by;
  all.any_thread = true;
  auto const ranges = outermost_ranges(of, by), all_ranges = outermost_ranges(of, all);
  detail::range_finder const own{of, by, ranges}, any{of, all, all_ranges};
  call_index const calls{of};
  std::size_t count = 0;
  each_device_table(of, [&](auto const& rows) {
    for (auto const& each : rows) {
      auto const row = calls.find(each.where);
      if (row == no_row) { continue; }
      auto const& call = of.calls[row];
      count += own.find(call.thread, call.when) == own.none &&
                       any.find(call.thread, call.when) != any.none
                   ? 1U
                   : 0U;
    }
  });
  return count;
}

/// As `select`, a part for each instance of the range in order of begin, at most `most` of them.
inline std::vector<view> instances(model const& of, row_filter const& by, std::size_t most) {
  auto const ranges = outermost_ranges(of, by);
  std::vector<std::size_t> order(ranges.size()), part_of(ranges.size());
  for (std::size_t i = 0; i < order.size(); ++i) { order[i] = i; }
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return of.ranges[ranges[i]].when.begin; });
  for (std::size_t i = 0; i < order.size(); ++i) { part_of[order[i]] = i; }
  return detail::parts_of(of, by, ranges, part_of, std::min(most, ranges.size()));
}

}  // namespace assay::trace
