// SPDX-License-Identifier: Apache-2.0
/// @file
/// `paired_difference`: the changes between traces of two sides, as parts of the difference of
/// their times, with intervals over pairs of runs and without what tracing itself added.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/stats/signed_rank.hpp>
#include <assay/stats/summary.hpp>
#include <assay/trace/host_wait_breakdown.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/results.hpp>
#include <assay/trace/time_breakdown.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace assay::trace {

/// A part is worth a name from this share of the control on, the margin of a comparison. The same
/// work built twice differs for good by 0.2 to 2 us in batches of 0.2 to 0.9 ms (H100).
inline constexpr double named_share_of_control = 0.01;
/// A smaller part is worth a name from this share on of a difference that is not zero.
inline constexpr double named_share_of_difference = 0.1;

/// True for a part that reports name: not small, and not zero by its interval, if it has one.
/// Others are told in a sum.
inline bool is_named(change const& part, trace_difference const& of) {
  auto const ns = std::abs(part.delta_ns());
  return (part.distinguishable() || of.confidence == 0) &&
         (ns >= named_share_of_control * of.control_ns ||
          (of.has_shares && ns >= named_share_of_difference * std::abs(of.difference_ns)));
}

namespace detail {

/// Sets `change::tracing`; `added` is what tracing added to the difference of each pair of runs.
///
/// The model: a tracer delays the host, and devices only as they wait for the host. So the parts of
/// the host bear it, each in proportion to the size of its change, and at most all of it.
inline void share_tracing(std::vector<change>& changes, std::vector<double> const& added) {
  auto const size_of = [](change const& of) {
    constexpr int no_interval = -1;
    return is_of_host(of.what)
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

}  // namespace detail

/// The estimate and the interval of the sum of some changes of a difference.
///
/// If `tracing_taken()`, the estimate is of the changes less what tracing added, pair by pair; else
/// it is of the changes as traced. The interval allows for both: which parts tracing delayed is a
/// model.
inline stats::interval sum_of(std::vector<change const*> const& some, trace_difference const& of) {
  if (of.pairs == 0) { return {}; }
  auto values = detail::pair_sums(some, of.pairs);
  auto const traced = stats::signed_rank_interval(values, of.critical_value);
  auto const tracing = detail::pair_sums(some, of.pairs, &change::tracing);
  for (std::size_t i = 0; i < values.size(); ++i) { values[i] -= tracing[i]; }
  auto const less = stats::signed_rank_interval(values, of.critical_value);
  return {std::min(traced.low, less.low), of.tracing_taken() ? less.estimate : traced.estimate,
          std::max(traced.high, less.high)};
}

/// The sum of all changes of one kind.
inline stats::interval sum_of(entry_kind kind, trace_difference const& of) {
  std::vector<change const*> some;
  for (auto const& each : of.changes) {
    if (each.what == kind) { some.push_back(&each); }
  }
  return sum_of(some, of);
}

inline run_breakdown breakdown_of(view const& rows) {
  run_breakdown made{static_cast<double>(run_extent(rows).length()), device_time_breakdown(rows)};
  for (std::size_t cause = 0; cause < idle_causes; ++cause) {
    auto const at =
        made.parts.find({entry_kind::idle, std::string{to_string(static_cast<idle_cause>(cause))}});
    if (at == made.parts.end()) { continue; }
    made.idle_ns[cause] = at->second.ns;
    // The entries of the host split up the times in which devices waited for it.
    if (static_cast<idle_cause>(cause) == idle_cause::host_bound) { made.parts.erase(at); }
  }
  std::erase_if(made.parts, [](auto const& part) { return part.first.first == entry_kind::edge; });
  made.parts.merge(host_wait_breakdown(rows));
  return made;
}

namespace detail {

/// The median over runs of each number of an entry.
inline breakdown_entry median_of(std::vector<breakdown_entry> const& all) {
  auto const of = [&](double breakdown_entry::*member) {
    std::vector<double> values;
    for (auto const& each : all) { values.push_back(each.*member); }
    std::sort(values.begin(), values.end());
    return stats::quantile(values, 0.5);
  };
  return {of(&breakdown_entry::ns), of(&breakdown_entry::count), of(&breakdown_entry::bytes)};
}

/// The parts that differ in at least one pair of runs.
inline std::vector<change> changes_of(std::vector<run_breakdown> const& control,
                                      std::vector<run_breakdown> const& variant) {
  std::map<breakdown_key, std::array<std::vector<breakdown_entry>, 2>> rows;
  for (std::size_t side = 0; side < 2; ++side) {
    auto const& from = side == 0 ? control : variant;
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (auto const& [key, sum] : from[i].parts) {
        auto& into = rows[key];
        for (auto& each : into) { each.resize(from.size()); }
        into[side][i] = sum;
      }
    }
  }
  std::vector<change> all;
  for (auto const& [key, of] : rows) {
    if (of[0] == of[1]) { continue; }
    auto& made = all.emplace_back();
    std::tie(made.what, made.name) = key;
    made.control = median_of(of[0]);
    made.variant = median_of(of[1]);
    for (std::size_t i = 0; i < control.size(); ++i) {
      made.pairs.push_back(of[1][i].ns - of[0][i].ns);
    }
  }
  return all;
}

/// Chooses the critical value at which all parts and four sums have intervals that hold together.
/// If the pairs are too few for that level, intervals reach from the least to the largest pair, and
/// `confidence` falls.
inline void choose_level(trace_difference& of, double alpha) {
  if (of.pairs < fewest_pairs) { return; }
  auto const parts = static_cast<double>(4 + of.changes.size());
  auto const pairs = static_cast<int>(of.pairs);
  auto const level = alpha / parts;
  auto const critical = stats::signed_rank_critical_value(pairs, level);
  of.critical_value = static_cast<int>(std::max<std::int64_t>(0, critical));
  of.confidence = std::max(0.0, 1 - parts * stats::attained_level(pairs, of.critical_value, level));
}

}  // namespace detail

/// A difference that is not known, and so is that of the traced runs.
inline constexpr stats::interval as_traced{std::numeric_limits<double>::quiet_NaN(),
                                           std::numeric_limits<double>::quiet_NaN(),
                                           std::numeric_limits<double>::quiet_NaN()};

/// Ranks the changes from `control` to `variant` as parts of `untraced`, the difference of their
/// times per run without a tracer. Run `i` of both sides is a pair: recorded one after the other,
/// so that what drifts changes both, or the same repetition of two programs.
///
/// The change of a part is the Hodges-Lehmann estimate over the pairs, with the exact signed-rank
/// interval where there are `fewest_pairs`. The intervals of all parts hold together at 1 - `alpha`
/// (`confidence` has the level that was reached). If all runs have their `tracing_ns`, what tracing
/// added is taken off as `sum_of` says. Throws `std::invalid_argument` unless both sides have as
/// many runs, and at least one.
inline trace_difference paired_difference(std::vector<run_breakdown> const& control,
                                          std::vector<run_breakdown> const& variant,
                                          stats::interval untraced = as_traced,
                                          double alpha = 0.05) {
  if (control.empty() || control.size() != variant.size()) {
    throw std::invalid_argument(concat({std::to_string(control.size()), " runs of the control and ",
                                        std::to_string(variant.size()),
                                        " of the variant: give pairs of runs, at least one"}));
  }
  trace_difference result;
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
  auto const& traced = result.traced = stats::signed_rank_interval(lengths, result.critical_value);
  result.tracing = {traced.low - untraced.high, traced.estimate - untraced.estimate,
                    traced.high - untraced.low};
  result.tracing_measured =
      std::all_of(added.begin(), added.end(), [](double ns) { return std::isfinite(ns); });
  if (result.tracing_measured) {
    result.tracing = stats::signed_rank_interval(added, result.critical_value);
    detail::share_tracing(result.changes, added);
  }
  if (std::isnan(untraced.estimate)) { untraced = traced; }
  result.difference_ns = untraced.estimate;
  bool const has_interval = std::isfinite(untraced.low) && std::isfinite(untraced.high);
  result.has_shares = untraced.estimate != 0 && (!has_interval || untraced.excludes(0));
  for (auto& each : result.changes) { each.delta = sum_of({&each}, result); }
  std::ranges::stable_sort(result.changes, std::greater{},
                           [](change const& of) { return std::abs(of.delta_ns()); });
  return result;
}

}  // namespace assay::trace
