// SPDX-License-Identifier: Apache-2.0
/// @file
/// The time that tracing itself added to the difference of two sides, as parts of their changes.
#pragma once

#include <assay/stats/signed_rank.hpp>
#include <assay/trace/change.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace assay::trace::detail {

/// Sets `change::tracing`; `added` is what tracing added to the difference of each pair of runs.
///
/// The model: a tracer delays the host, and devices only as they wait for the host. So the parts of
/// `host_waits` bear it, each in proportion to the size of its change, and at most all of it.
inline void share_tracing(std::vector<change>& changes, std::vector<double> const& added) {
  auto const size_of = [](change const& of) {
    constexpr int no_interval = -1;
    return of.seen_by == perspective::host_waits
               ? std::abs(stats::signed_rank_interval(of.pairs, no_interval).estimate)
               : 0.0;
  };
  double all = 0;
  for (auto const& each : changes) { all += size_of(each); }
  for (auto& each : changes) {
    auto const size = size_of(each);
    if (size == 0) { continue; }
    for (auto const ns : added) { each.tracing.push_back(std::clamp(ns, -all, all) * size / all); }
  }
}

/// The sum over changes, by pair of runs.
inline std::vector<double> pair_sums(std::vector<change const*> const& of, std::size_t pairs,
                                     std::vector<double> change::*member = &change::pairs) {
  std::vector<double> sums(pairs, 0.0);
  for (auto const* each : of) {
    auto const& values = each->*member;
    for (std::size_t i = 0; i < values.size(); ++i) { sums[i] += values[i]; }
  }
  return sums;
}

}  // namespace assay::trace::detail

namespace assay::trace {

/// The estimate and the interval of the sum of some changes of a difference.
///
/// If `tracing_taken()`, the estimate is of the changes less what tracing added, pair by pair; else
/// it is of the changes as traced. The interval allows for both: which parts tracing delayed is a
/// model.
inline stats::interval sum_of(std::vector<change const*> const& some, trace_difference const& of) {
  auto values = detail::pair_sums(some, of.pairs);
  auto const traced = stats::signed_rank_interval(values, of.critical_value);
  auto const tracing = detail::pair_sums(some, of.pairs, &change::tracing);
  for (std::size_t i = 0; i < values.size(); ++i) { values[i] -= tracing[i]; }
  auto const less = stats::signed_rank_interval(values, of.critical_value);
  return {std::min(traced.low, less.low), of.tracing_taken() ? less.estimate : traced.estimate,
          std::max(traced.high, less.high)};
}

}  // namespace assay::trace
