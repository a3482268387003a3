// SPDX-License-Identifier: Apache-2.0
/// @file
/// The three questions of the null_cast experiment, answered from what was measured.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/report/format.hpp>
#include <assay/report/words.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::examples {

namespace detail {

/// The finding for these weights on a clock; null if there is none.
inline measure::finding const* find(measure::comparison const& all,
                                    std::vector<double> const& weights, measure::clock on) {
  auto const found = std::ranges::find_if(all.findings, [&](measure::finding const& each) {
    return each.on == on && each.weights == weights;
  });
  return found == all.findings.end() ? nullptr : &*found;
}

inline void tell(measure::answer& into, measure::comparison const& all, std::string_view what,
                 std::vector<double> const& weights, measure::clock on) {
  if (auto const* found = find(all, weights, on)) {
    into.lines.push_back(std::string{what} + ": " + report::sentence(*found, all));
  }
}

/// An item's host time, and the shares of its parts.
inline std::string split(measure::submission_profile const& of) {
  auto const time = [](double nanoseconds) { return report::duration(nanoseconds * 1e-9); };
  auto const share = [&](measure::latency const& part, std::string_view name) {
    return report::percent(part.mean / of.total.mean, 0) + " " + std::string{name};
  };
  return "p50 " + time(of.total.p50) + ", p99 " + time(of.total.p99) + ", max " +
         time(of.total.max) + " an item; of the mean " + share(of.allocation, "allocation") + ", " +
         share(of.lock_wait, "lock waiting") + ", " + share(of.launching, "launching");
}

}  // namespace detail

/// Adds the answers to a comparison of two allocators, each with two modes: at once, and under one
/// mutex. The variants of the first allocator come first. A failed comparison gets no answers.
inline void answer_allocator_questions(measure::comparison& all) {
  if (all.variants.size() != 4 || !all.failure.empty()) { return; }
  using measure::clock;
  measure::answer gap{"Does the allocator change the gap between concurrent and mutex?", {}};
  detail::tell(gap, all, "Time of a batch", {1, -1, -1, 1}, clock::wall);
  detail::tell(gap, all, "Host time of an item", {1, -1, -1, 1}, clock::submit);
  detail::tell(gap, all, "Host time of an item, first allocator", {-1, 1, 0, 0}, clock::submit);
  detail::tell(gap, all, "Host time of an item, second allocator", {0, 0, -1, 1}, clock::submit);

  measure::answer submission{"How does dynamic allocation affect submission?", {}};
  detail::tell(submission, all, "At once", {-1, 0, 1, 0}, clock::submit);
  detail::tell(submission, all, "Under the mutex", {0, -1, 0, 1}, clock::submit);
  measure::answer patterns{"Do the allocation patterns differ?", {}};
  bool same_calls = true;
  bool same_bytes = true;
  auto const& first = all.variants.front().memory;
  for (auto const& variant : all.variants) {
    if (variant.submission) {
      submission.lines.push_back(variant.label + ": " + detail::split(*variant.submission));
    }
    if (!variant.memory || !first) { continue; }
    same_calls = same_calls && variant.memory->allocations == first->allocations &&
                 variant.memory->deallocations == first->deallocations;
    same_bytes = same_bytes && variant.memory->bytes == first->bytes;
    auto const known = [](std::string_view name, auto const& value, auto const& print) {
      return value ? ", " + std::string{name} + " " + print(*value) : std::string{};
    };
    auto const bytes = [](std::uint64_t n) { return report::byte_size(static_cast<double>(n)); };
    patterns.lines.push_back(
        variant.label + ": peak " + bytes(variant.memory->peak_bytes) +
        known("reserved", variant.memory->reserved_bytes, bytes) +
        known("reused blocks", variant.memory->reused_blocks, report::count) +
        known("calls to the driver", variant.memory->upstream_calls, report::count));
  }
  if (first) {
    patterns.lines.insert(
        patterns.lines.begin(),
        same_calls && same_bytes
            ? "As requests they are the same: " + report::count(first->allocations) +
                  " allocations and as many frees in a batch, " +
                  report::byte_size(static_cast<double>(first->bytes)) +
                  " in all; what stands behind them differs"
            : std::string{"As requests they differ: see the table of memory below"});
  }
  all.answers = {gap, submission, patterns};
}

}  // namespace assay::examples
