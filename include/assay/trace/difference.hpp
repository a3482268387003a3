// SPDX-License-Identifier: Apache-2.0
/// @file
/// The changes between traces of two sides, as parts of the difference of their times: of one run
/// each by `difference`, of pairs of runs with intervals by `paired_difference`.
#pragma once

#include <assay/stats/signed_rank.hpp>
#include <assay/stats/summary.hpp>
#include <assay/trace/change.hpp>
#include <assay/trace/host_wait_breakdown.hpp>
#include <assay/trace/largest_first.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/time_breakdown.hpp>
#include <assay/trace/tracing_share.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

/// The rows of `runs` runs of one thing, one after the other.
struct traced_runs {
  view rows;
  double runs = 1;
};

namespace detail {

inline time_breakdown per_run(time_breakdown all, double runs) {
  for (auto& [key, sum] : all) {
    sum = {sum.ns / runs, sum.total / runs, sum.count / runs, sum.bytes / runs};
  }
  return all;
}

inline void largest_first(std::vector<change>& changes) {
  trace::largest_first(changes, [](change const& of) { return std::abs(of.delta_ns()); });
}

/// The median over runs of each number of an entry.
inline breakdown_entry median_of(std::vector<breakdown_entry> const& all) {
  auto const of = [&](double breakdown_entry::*member) {
    std::vector<double> values;
    for (auto const& each : all) { values.push_back(each.*member); }
    std::sort(values.begin(), values.end());
    return stats::quantile(values, 0.5);
  };
  return {of(&breakdown_entry::ns), of(&breakdown_entry::total), of(&breakdown_entry::count),
          of(&breakdown_entry::bytes)};
}

/// The copy time that kernels hid. More of this time makes a run shorter, so it counts negative.
inline time_breakdown overlap_breakdown(view const& rows) {
  time_breakdown result;
  for (auto const& device : overlap(rows)) {
    for (std::size_t i = 0; i < copy_directions; ++i) {
      auto const& use = device.by_direction[i];
      if (use.count == 0) { continue; }
      auto& sum = result[{entry_kind::copy, std::string{to_string(static_cast<copy_direction>(i))} +
                                                " hidden by kernels"}];
      sum.ns -= static_cast<double>(use.hidden_ns);
      sum.total += static_cast<double>(use.busy_ns);
      sum.count += static_cast<double>(use.count);
      sum.bytes += static_cast<double>(use.bytes);
    }
  }
  return result;
}

inline double length_per_run(traced_runs const& of) {
  return static_cast<double>(run_extent(of.rows).length()) / of.runs;
}

}  // namespace detail

/// A run in breakdowns, without its rows.
struct run_breakdown {
  double ns = 0;                        ///< the length of the run
  std::array<time_breakdown, 4> parts;  ///< by `perspective`
  /// How much longer the run took than one beside it without a tracer; NaN: not measured.
  double tracing_ns = std::numeric_limits<double>::quiet_NaN();
};

/// Throws `std::invalid_argument` unless the trace shows at least part of a run.
inline run_breakdown breakdown_of(traced_runs const& of) {
  if (!(of.runs > 0)) {
    throw std::invalid_argument("a trace shows " + std::to_string(of.runs) +
                                " runs; it has to show more than none");
  }
  run_breakdown made;
  made.ns = detail::length_per_run(of);
  constexpr std::array makers{device_time_breakdown, host_wait_breakdown, host_time_breakdown,
                              detail::overlap_breakdown};
  for (std::size_t i = 0; i < makers.size(); ++i) {
    made.parts[i] = detail::per_run(makers[i](of.rows), of.runs);
  }
  return made;
}

namespace detail {

/// The entries that differ in at least one pair of runs, by perspective and name.
inline std::vector<change> changes_of(std::vector<run_breakdown> const& control,
                                      std::vector<run_breakdown> const& variant) {
  struct sides {
    std::vector<breakdown_entry> control, variant;
  };
  std::vector<change> all;
  for (std::size_t who = 0; who < control.front().parts.size(); ++who) {
    std::map<breakdown_key, sides> rows;
    auto const add = [&](std::vector<run_breakdown> const& from,
                         std::vector<breakdown_entry> sides::*side) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        for (auto const& [key, sum] : from[i].parts[who]) {
          auto& into = rows[key].*side;
          into.resize(from.size());
          into[i] = sum;
        }
      }
    };
    add(control, &sides::control);
    add(variant, &sides::variant);
    for (auto& [key, of] : rows) {
      of.control.resize(control.size());
      of.variant.resize(variant.size());
      if (of.control == of.variant) { continue; }
      auto& made = all.emplace_back();
      made.seen_by = static_cast<perspective>(who);
      made.what = key.first;
      made.name = key.second;
      made.control = median_of(of.control);
      made.variant = median_of(of.variant);
      for (std::size_t i = 0; i < control.size(); ++i) {
        made.pairs.push_back(of.variant[i].ns - of.control[i].ns);
      }
    }
  }
  return all;
}

/// Chooses the critical value at which all parts and four sums have intervals that hold together.
/// If the pairs are too few for that level, intervals reach from the least to the largest pair, and
/// `confidence` falls.
inline void choose_level(trace_difference& of, double alpha) {
  if (of.pairs < fewest_pairs) { return; }
  auto const parts = 4 + std::count_if(of.changes.begin(), of.changes.end(), is_part);
  auto const pairs = static_cast<int>(of.pairs);
  auto const level = alpha / static_cast<double>(parts);
  auto const critical = stats::signed_rank_critical_value(pairs, level);
  of.critical_value = static_cast<int>(std::max<std::int64_t>(0, critical));
  auto const missed = stats::attained_level(pairs, of.critical_value, level);
  of.confidence = std::max(0.0, 1 - static_cast<double>(parts) * missed);
}

}  // namespace detail

/// Ranks the changes from `control` to `variant` as parts of `difference_ns`, the difference of
/// their times per run without a tracer. Run `i` of both sides is a pair: recorded one after the
/// other, so that what drifts changes both.
///
/// The change of a part is the Hodges-Lehmann estimate over the pairs, with the exact signed-rank
/// interval where there are `fewest_pairs`. The intervals of all parts hold together at 1 - `alpha`
/// (`confidence` has the level that was reached). If all runs have their `tracing_ns`, what tracing
/// added is taken off as `sum_of` says. Operations and waits of devices explain the
/// difference. Time in which devices waited for the host is explained by the calls and locks of the
/// thread that launched late. Throws `std::invalid_argument` unless both sides have as many runs,
/// and at least one.
inline trace_difference paired_difference(std::vector<run_breakdown> const& control,
                                          std::vector<run_breakdown> const& variant,
                                          double difference_ns, double alpha = 0.05) {
  if (control.empty() || control.size() != variant.size()) {
    throw std::invalid_argument(std::to_string(control.size()) + " runs of the control and " +
                                std::to_string(variant.size()) +
                                " of the variant: give pairs of runs, at least one");
  }
  trace_difference result;
  result.difference_ns = difference_ns;
  result.pairs = control.size();
  result.changes = detail::changes_of(control, variant);
  detail::choose_level(result, alpha);
  std::vector<double> lengths, added;
  std::vector<breakdown_entry> first, second;
  for (std::size_t i = 0; i < control.size(); ++i) {
    first.push_back({.ns = control[i].ns});
    second.push_back({.ns = variant[i].ns});
    lengths.push_back(variant[i].ns - control[i].ns);
    added.push_back(variant[i].tracing_ns - control[i].tracing_ns);
  }
  result.control_ns = detail::median_of(first).ns;
  result.variant_ns = detail::median_of(second).ns;
  result.traced = stats::signed_rank_interval(lengths, result.critical_value);
  result.tracing_measured =
      std::all_of(added.begin(), added.end(), [](double ns) { return std::isfinite(ns); });
  if (result.tracing_measured) {
    result.tracing = stats::signed_rank_interval(added, result.critical_value);
    detail::share_tracing(result.changes, added);
  }
  for (auto& each : result.changes) {
    each.delta = sum_of({&each}, result);
    auto const delta = each.delta_ns();
    each.share =
        difference_ns == 0 ? std::numeric_limits<double>::quiet_NaN() : delta / difference_ns;
    if (each.seen_by == perspective::devices) {
      if (!waits_for_host(each) && !has_no_cause(each)) { result.device_ns += delta; }
    } else if (each.seen_by == perspective::host_waits && each.what != entry_kind::host_code) {
      result.host_ns += delta;
    }
  }
  result.explained_ns = result.device_ns + result.host_ns;
  auto const taken = result.tracing_taken() ? result.tracing_ns() : 0.0;
  result.unexplained_ns = result.traced_ns() - taken - result.explained_ns;
  detail::largest_first(result.changes);
  return result;
}

/// As `paired_difference`, of one trace of each side: without intervals.
inline trace_difference difference(traced_runs const& control, traced_runs const& variant,
                                   double difference_ns) {
  return paired_difference({breakdown_of(control)}, {breakdown_of(variant)}, difference_ns);
}

/// The changes summed by breakdown and kind, without names: the sums of allocations, of locks, of
/// calls and so on, the largest first.
inline std::vector<change> by_kind(trace_difference const& of) {
  std::vector<change> result;
  for (auto const& first : of.changes) {
    auto const of_kind = [&](change const& each) {
      return each.seen_by == first.seen_by && each.what == first.what;
    };
    if (std::any_of(result.begin(), result.end(), of_kind)) { continue; }
    change sum;
    sum.seen_by = first.seen_by;
    sum.what = first.what;
    std::vector<change const*> group;
    for (auto const& each : of.changes) {
      if (!of_kind(each)) { continue; }
      group.push_back(&each);
      sum.share += each.share;
      sum.control += each.control;
      sum.variant += each.variant;
    }
    sum.pairs = detail::pair_sums(group, of.pairs);
    sum.tracing = detail::pair_sums(group, of.pairs, &change::tracing);
    sum.delta = sum_of(group, of);
    result.push_back(std::move(sum));
  }
  detail::largest_first(result);
  return result;
}

}  // namespace assay::trace
