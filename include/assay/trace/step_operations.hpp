// SPDX-License-Identifier: Apache-2.0
/// @file
/// The device time of the numbered operations of a step, such as a step of a transformer.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// Operations of devices, such as the kernels of one name: number and time.
struct device_work {
  std::size_t count = 0;
  std::int64_t ns = 0;
  device_work& operator+=(device_work const& other) {
    count += other.count;
    ns += other.ns;
    return *this;
  }
  bool operator==(device_work const&) const = default;
};

/// One operation of a step: what its range launched, by name, in one repetition of the step.
struct step_operation {
  std::string part;
  std::map<std::string, device_work> work;
  device_work total() const {
    device_work all;
    for (auto const& [name, each] : work) { all += each; }
    return all;
  }
};

/// One repetition of a step.
struct step_repetition {
  std::int64_t host_ns = 0;  ///< from begin to end of the range of the step
  span device;               ///< from the first begin to the last end of what the step launched
  device_work total;         ///< all that the step launched
  device_work outside;       ///< work that no operation launched, such as copies of inputs
  std::int64_t busy_ns = 0;  ///< the union of all that the step launched
  std::vector<step_operation> operations;  ///< by their numbers

  /// The parts of `device` without work. `busy_ns` and this add up to its length.
  std::int64_t idle_ns() const { return device.length() - busy_ns; }
  /// What the times of operations count more than once. `busy_ns` and this add up to `total.ns`.
  std::int64_t overlap_ns() const { return total.ns - busy_ns; }

  /// Adds something that the step launched; `settle()` comes after the last.
  void add(gpu_operation const& each) {
    device = spans_.empty() ? each.when : around(device, each.when);
    total += {1, each.when.length()};
    spans_.push_back(each.when);
  }
  void settle() { busy_ns = interval_set{std::exchange(spans_, {})}.length(); }

 private:
  std::vector<span> spans_;
};

namespace detail {

/// The range of an operation is the innermost one: it holds no other.
inline void add_operation(step_repetition& to, view const& rows, range_record const& range) {
  auto const& of = rows.of();
  if (range.payload != to.operations.size()) {
    throw std::invalid_argument(
        concat({"operation ", std::to_string(range.payload), " of a step, `",
                of.strings[range.name], "`, comes after ", std::to_string(to.operations.size()),
                " operations: numbers have to begin at 0 without gaps"}));
  }
  auto& made = to.operations.emplace_back();
  made.part = of.strings[range.name];
  rows.visit(range, [&](gpu_operation const& each) {
    made.work[operation_name(of, each, true)] += {1, each.when.length()};
  });
}

/// The ranges of category `gpu` of the domain `assay`, outer ones before those that they hold.
inline std::vector<range_record> assay_ranges(model const& of) {
  std::vector<range_record> ranges;
  std::copy_if(of.ranges.begin(), of.ranges.end(), std::back_inserter(ranges),
               [&](range_record const& each) {
                 return of.strings[each.domain] == "assay" && on_one_thread(each) && each.ended &&
                        each.category == static_cast<std::uint32_t>(assay::category::gpu);
               });
  std::stable_sort(ranges.begin(), ranges.end(), [](auto const& a, auto const& b) {
    return a.when.begin != b.when.begin ? a.when.begin < b.when.begin : a.when.end > b.when.end;
  });
  return ranges;
}

/// Those of one name.
inline std::vector<range_record> step_ranges(model const& of, std::string_view step) {
  auto ranges = assay_ranges(of);
  std::erase_if(ranges, [&](auto const& each) { return of.strings[each.name] != step; });
  return ranges;
}

}  // namespace detail

/// The repetitions of the step, by their begin: the ranges of the domain `assay` with that name.
/// The ranges of category `gpu` within a step are its operations, and their payloads number them.
///
/// Throws `std::invalid_argument` where there is no such range, where operations are not numbered
/// 0, 1, ..., and where repetitions launch different numbers of kernels: counts then mean nothing.
inline std::vector<step_repetition> step_operations(view const& rows, std::string_view step) {
  auto const& of = rows.of();
  auto const ranges = detail::assay_ranges(of);
  std::vector<step_repetition> found;
  for (std::size_t first = 0; first < ranges.size(); ++first) {
    auto const& outer = ranges[first];
    if (of.strings[outer.name] != step) { continue; }
    auto& to = found.emplace_back();
    to.host_ns = outer.when.length();
    rows.visit(outer, [&](gpu_operation const& each) { to.add(each); });
    to.settle();
    to.outside = to.total;
    for (auto at = first + 1; at < ranges.size() && ranges[at].when.begin < outer.when.end; ++at) {
      if (ranges[at].thread != outer.thread) { continue; }
      detail::add_operation(to, rows, ranges[at]);
      auto const owned = to.operations.back().total();
      to.outside.count -= owned.count;
      to.outside.ns -= owned.ns;
    }
  }
  if (found.empty()) {
    throw std::invalid_argument(
        concat({"the trace has no range `", step, "` of the domain assay"}));
  }
  for (auto const& each : found) {
    if (each.operations.size() == found[0].operations.size() &&
        std::equal(each.operations.begin(), each.operations.end(), found[0].operations.begin(),
                   [](auto const& a, auto const& b) {
                     return a.part == b.part && a.total().count == b.total().count;
                   })) {
      continue;
    }
    throw std::invalid_argument(
        concat({"repetition ", std::to_string(&each - found.data()), " of `", step,
                "` launches other operations than the first one: leave warm-ups "
                "out of the trace"}));
  }
  return found;
}

}  // namespace assay::trace
