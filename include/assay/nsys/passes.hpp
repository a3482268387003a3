// SPDX-License-Identifier: Apache-2.0
/// @file
/// `repeated_pass`: the repetitions of a pass in the trace of any program, by the ranges that name
/// it or by the sequence of kernels.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/nsys/select.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

/// The repetitions of a pass: their operations on devices, and their time on the host.
struct repeated_pass {
  std::string name;
  std::vector<std::vector<gpu_operation>> operations = {};
  std::vector<span> host = {};  ///< of repetitions whose first and last call are in the trace
  std::size_t cut = 0;          ///< ranges left out, since the end of the recording cut them off
  std::size_t count() const { return operations.size(); }
};

namespace detail {

/// In the order of their launches.
inline std::vector<gpu_operation> in_launch_order(view const& rows) {
  auto all = rows.operations();
  std::ranges::stable_sort(all, {}, [&](gpu_operation const& each) {
    return std::pair{begin_of_call(rows.of(), each.call), each.when.begin};
  });
  return all;
}

/// The shortest period of a sequence that a whole number of periods makes up; its size if none.
inline std::size_t period_of(std::vector<string_id> const& all) {
  std::vector<std::size_t> border(all.size(), 0);  // of each beginning: also its end
  for (std::size_t i = 1, length = 0; i < all.size(); ++i) {
    while (length > 0 && all[i] != all[length]) { length = border[length - 1]; }
    if (all[i] == all[length]) { ++length; }
    border[i] = length;
  }
  if (all.empty()) { return 0; }
  auto const period = all.size() - border.back();
  return all.size() % period == 0 ? period : all.size();
}

/// The ranges of a name, without those within another one of their thread, by begin.
inline std::vector<row_index> ranges_of_passes(model const& of, std::string const& name) {
  row_filter by{.range = name};
  auto found = outermost_ranges(of, by);
  by.any_thread = true;
  for (auto const row : outermost_ranges(of, by)) {
    if (!on_one_thread(of.ranges[row])) { found.push_back(row); }
  }
  std::ranges::stable_sort(found, {}, [&](row_index row) { return of.ranges[row].when.begin; });
  return found;
}

/// Throws unless all repetitions have the same kernels in the same numbers.
inline void require_equal_counts(model const& of, repeated_pass const& pass) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> counts;  // in the first, in another
  auto const count = [&](std::size_t number, auto const& add) {
    for (auto const& each : pass.operations[number]) {
      if (!is_memory(each.kind)) { add(counts[operation_name(of, each)]); }
    }
  };
  count(0, [](auto& times) { ++times.first; });
  for (std::size_t number = 1; number < pass.count(); ++number) {
    for (auto& [name, times] : counts) { times.second = 0; }
    count(number, [](auto& times) { ++times.second; });
    for (auto const& [name, times] : counts) {
      if (times.first == times.second) { continue; }
      throw std::invalid_argument(
          concat({"repetition ", std::to_string(number), " of `", pass.name, "` launches ",
                  name.substr(0, 80), " ", std::to_string(times.second),
                  " times, and repetition 0 launches it ", std::to_string(times.first),
                  " times: there is no count of one pass; leave warm-ups out with --warm-ups N"}));
    }
  }
}

}  // namespace detail

/// The passes that ranges of a name are, with what all threads launch in their time, each operation
/// in one pass; none where no range has that name. Ranges that the end of the recording cut off are
/// left out, unless there are no others. Throws `std::invalid_argument` where repetitions differ.
inline std::optional<repeated_pass> passes_in(view const& rows, std::string const& range,
                                              int warm_ups) {
  auto const& of = rows.of();
  auto found = range.empty() ? std::vector<row_index>{} : detail::ranges_of_passes(of, range);
  if (found.empty()) { return {}; }
  auto const is_cut = [&](row_index row) { return !of.ranges[row].ended; };
  auto const cut =
      std::ranges::all_of(found, is_cut) ? std::size_t{0} : std::erase_if(found, is_cut);
  if (static_cast<std::size_t>(warm_ups) >= found.size()) {
    throw std::invalid_argument(
        concat({"--warm-ups ", std::to_string(warm_ups), ": `", range, "` has ",
                std::to_string(found.size()), " repetitions, and one has to be left"}));
  }
  found.erase(found.begin(), found.begin() + warm_ups);
  repeated_pass pass{.name = std::string{of.strings[of.ranges[found[0]].name]}, .cut = cut};
  auto const all = detail::in_launch_order(rows);
  auto const call_of = [&](auto const& each) { return begin_of_call(of, each.call); };
  // Ranges of several threads may overlap: an operation belongs to the range of the thread that
  // launched it, else to the last that began.
  std::vector<row_index> owners(all.size(), no_row);
  for (auto const row : found) {
    auto const& [when, thread] = std::pair{of.ranges[row].when, of.ranges[row].thread};
    pass.host.push_back(when);
    for (auto at = std::ranges::lower_bound(all, when.begin, {}, call_of);
         at != all.end() && call_of(*at) <= when.end; ++at) {
      auto const& caller = of.calls[at->call].thread;
      auto& owner = owners[static_cast<std::size_t>(at - all.begin())];
      auto const owned = owner != no_row && of.ranges[owner].thread == caller;
      if (caller.process == thread.process && (!owned || thread == caller)) { owner = row; }
    }
  }
  std::map<row_index, std::size_t> number;
  for (auto const row : found) { number.emplace(row, number.size()); }
  pass.operations.resize(found.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (owners[i] != no_row) { pass.operations[number[owners[i]]].push_back(all[i]); }
  }
  detail::require_equal_counts(of, pass);
  return pass;
}

/// The passes of a trace without such ranges: its kernels, in the order of their launches, are one
/// sequence again and again. Throws `std::invalid_argument` where there are none.
inline repeated_pass repeated_sequence(view const& rows) {
  auto all = detail::in_launch_order(rows);
  std::erase_if(all, [](auto const& each) { return is_memory(each.kind); });
  std::vector<string_id> names;
  for (auto const& each : all) {
    auto const is_kernel = each.kind == operation_kind::kernel;
    names.push_back(is_kernel ? rows.of().kernels[each.row].name : 0);  // 0: a graph
  }
  auto const period = detail::period_of(names);
  if (period == 0) {
    throw std::invalid_argument("the trace has no kernels: there is nothing to answer from");
  }
  repeated_pass pass{concat({"the same ", std::to_string(period), " launches"})};
  for (auto first = all.begin(); first != all.end();) {
    auto const end = first + static_cast<std::ptrdiff_t>(period);
    auto const& made = pass.operations.emplace_back(first, end);
    first = end;
    auto const& calls = rows.of().calls;
    if (made.front().call == no_row || made.back().call == no_row) { continue; }
    pass.host.push_back({calls[made.front().call].when.begin, calls[made.back().call].when.end});
  }
  return pass;
}

}  // namespace assay::trace
