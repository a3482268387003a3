// SPDX-License-Identifier: Apache-2.0
/// @file
/// `unpaired_difference`: the changes from the steps of one run to the steps of another run, per
/// step and with exact intervals. The runs may have different numbers of steps.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/stats/rank_sum.hpp>
#include <assay/stats/serial_dependence.hpp>
#include <assay/stats/summary.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/results.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace assay::trace {

/// One step of a run: an instance of a range.
struct step_record {
  double range_ns = 0;   ///< from begin to end of the range, on the host
  run_breakdown run;     ///< from the first call to the end of the last work of the step, in parts
  time_breakdown calls;  ///< the host's CUDA calls by name, whether devices waited or not
};

/// Reads a step from the rows that its range launched and did.
inline step_record step_of(view const& rows, trace::span range) {
  step_record made{static_cast<double>(range.length()), breakdown_of(rows), {}};
  auto const& of = rows.of();
  for (auto const& each : of.calls) {
    if (each.layer == api::os) { continue; }
    made.calls[{entry_kind::call, std::string{without_version(of.strings[each.name])}}] +=
        {static_cast<double>(each.when.length()), 1, 0};
  }
  return made;
}

/// A number of each step that differs, or may.
struct step_change {
  change of;               ///< medians over the steps of a side, and the shift between the sides
  stats::interval factor;  ///< the variant's over the control's; see `stats::rank_sum_ratio`
  double widening = 1;     ///< of both intervals, since steps depend on those before them
};

/// The names of what is compared.
struct step_labels {
  std::string range, control, variant;
};

/// The steps of one side.
struct step_side {
  std::size_t steps = 0;
  double device_ns = 0;                       ///< a step, mean: devices worked
  std::array<double, idle_causes> idle_ns{};  ///< the same: idle between operations, by cause
  double edge_ns = 0;                         ///< the same: before the first and after the last
};

/// The changes per step. Intervals are those of steps that are independent of each other and whose
/// laws differ by a shift, or by a factor, widened as `stats::interval_widening` says.
struct step_difference {
  double alpha = 0.05;
  step_side control, variant;
  step_change range;                 ///< the length of the range; its interval holds alone
  step_change work;                  ///< from the first call to the end of the work; the same
  std::vector<step_change> parts;    ///< by falling size; in each step they sum up to `work`
  std::vector<step_change> calls;    ///< the host's calls, which may run beside devices; the same
  double level = 0.05;               ///< of each interval of `parts` and `calls`
  bool together = false;             ///< these intervals hold together at 1 - alpha
  std::int64_t critical_value = -1;  ///< for alpha; -1: too few steps for an interval
  std::int64_t part_critical_value = -1;  ///< for `level`

  bool has_intervals() const noexcept { return critical_value >= 0; }
};

/// Runs of one program differ by up to this share of a step, which the steps of one run of each
/// side cannot show: 40 pairs of equal runs on an H200 differed by 0.54 % or less
/// (benchmarks/step_traces).
inline constexpr double between_runs = 0.01;

/// True where a change is larger than runs of one program differ by: the whole interval of the
/// factor, for work of devices and for a range, or that of the shift as a share of a step.
inline bool beyond_runs(step_change const& each, step_difference const& in) {
  auto const step = between_runs * in.work.of.control.ns;
  if (each.of.delta.low > step || each.of.delta.high < -step) { return true; }
  bool const on_device = each.of.what <= entry_kind::memset;
  return on_device && (each.factor.low > 1 + between_runs || each.factor.high < 1 - between_runs);
}

namespace detail {

/// Numbers of both sides, one for each step.
using two_samples = std::array<std::vector<double>, 2>;

inline step_change change_between(two_samples const& of, std::int64_t critical_value) {
  step_change made;
  made.widening = stats::interval_widening(of[0], of[1]);
  made.of.delta =
      stats::widened(stats::rank_sum_shift(of[0], of[1], critical_value), made.widening);
  made.factor =
      stats::widened_factor(stats::rank_sum_ratio(of[0], of[1], critical_value), made.widening);
  return made;
}

using entries_of_sides = std::array<std::vector<breakdown_entry>, 2>;

/// The entries of each name, those of one side alone beside zeros.
inline std::map<breakdown_key, entries_of_sides> entries_by_key(
    std::array<std::span<step_record const>, 2> const& sides,
    std::function<time_breakdown const&(step_record const&)> const& parts) {
  std::map<breakdown_key, entries_of_sides> all;
  for (std::size_t side = 0; side < 2; ++side) {
    for (std::size_t i = 0; i < sides[side].size(); ++i) {
      for (auto const& [key, entry] : parts(sides[side][i])) {
        auto& into = all[key];
        for (std::size_t each = 0; each < 2; ++each) { into[each].resize(sides[each].size()); }
        into[side][i] = entry;
      }
    }
  }
  std::erase_if(all, [](auto const& each) {
    return std::ranges::all_of(each.second, [](auto const& side) {
      return std::ranges::all_of(side, [](auto const& entry) { return entry.ns == 0; });
    });
  });
  return all;
}

inline std::vector<step_change> changes_of(std::map<breakdown_key, entries_of_sides> const& all,
                                           std::int64_t critical_value) {
  std::vector<step_change> made;
  for (auto const& [key, sides] : all) {
    two_samples ns;
    for (std::size_t side = 0; side < 2; ++side) {
      for (auto const& each : sides[side]) { ns[side].push_back(each.ns); }
    }
    auto& into = made.emplace_back(change_between(ns, critical_value));
    std::tie(into.of.what, into.of.name) = key;
    into.of.control = median_of(sides[0]);
    into.of.variant = median_of(sides[1]);
  }
  std::ranges::stable_sort(made, std::greater{},
                           [](auto const& each) { return std::abs(each.of.delta_ns()); });
  return made;
}

inline step_side side_of(std::span<step_record const> steps) {
  step_side made{.steps = steps.size()};
  auto const share = 1 / static_cast<double>(steps.size());
  for (auto const& each : steps) {
    made.edge_ns += share * each.run.ns;
    for (auto const& [key, part] : each.run.parts) {
      if (key.first <= entry_kind::memset) { made.device_ns += share * part.ns; }
    }
    for (std::size_t cause = 0; cause < idle_causes; ++cause) {
      made.idle_ns[cause] += share * each.run.idle_ns[cause];
    }
  }
  made.edge_ns -= made.device_ns;
  for (auto const ns : made.idle_ns) { made.edge_ns -= ns; }
  return made;
}

}  // namespace detail

/// The changes from the steps of the control to those of the variant. A name that one side alone
/// has takes no time on the other.
///
/// The interval of the range and that of its work hold at 1 - `alpha` each. Those of parts and
/// calls hold together (Bonferroni) where the steps suffice for that, else each by itself. Throws
/// `std::invalid_argument` where a side has no step.
inline step_difference unpaired_difference(std::span<step_record const> control,
                                           std::span<step_record const> variant,
                                           double alpha = 0.05) {
  if (control.empty() || variant.empty()) {
    throw std::invalid_argument(
        concat({std::to_string(control.size()), " steps of the control and ",
                std::to_string(variant.size()), " of the variant: give at least one of each"}));
  }
  std::array const sides{control, variant};
  auto const critical_value = [m = static_cast<std::int64_t>(control.size()),
                               n = static_cast<std::int64_t>(variant.size())](double level) {
    return stats::rank_sum_critical_value(m, n, level);
  };
  step_difference made;
  made.alpha = alpha;
  made.control = detail::side_of(control);
  made.variant = detail::side_of(variant);
  made.critical_value = critical_value(alpha);
  auto const parts =
      detail::entries_by_key(sides, [](auto const& each) -> auto const& { return each.run.parts; });
  auto const calls =
      detail::entries_by_key(sides, [](auto const& each) -> auto const& { return each.calls; });
  made.level = alpha / static_cast<double>(std::max<std::size_t>(parts.size() + calls.size(), 1));
  made.part_critical_value = critical_value(made.level);
  made.together = made.part_critical_value >= 0;
  if (!made.together) {
    made.level = alpha;
    made.part_critical_value = made.critical_value;
  }
  made.parts = detail::changes_of(parts, made.part_critical_value);
  made.calls = detail::changes_of(calls, made.part_critical_value);
  auto const whole = [&](std::function<double(step_record const&)> const& of) {
    detail::two_samples ns;
    detail::entries_of_sides entries;
    for (std::size_t side = 0; side < 2; ++side) {
      for (auto const& each : sides[side]) {
        ns[side].push_back(of(each));
        entries[side].push_back({ns[side].back(), 1, 0});
      }
    }
    auto found = detail::change_between(ns, made.critical_value);
    found.of.control = detail::median_of(entries[0]);
    found.of.variant = detail::median_of(entries[1]);
    return found;
  };
  made.range = whole([](auto const& each) { return each.range_ns; });
  made.work = whole([](auto const& each) { return each.run.ns; });
  return made;
}

}  // namespace assay::trace
