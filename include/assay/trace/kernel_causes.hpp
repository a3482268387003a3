// SPDX-License-Identifier: Apache-2.0
/// @file
/// `explain_kernels`: the change of a kernel's time between two runs, split by counters into parts
/// that sum up.
#pragma once

#include <assay/trace/metrics.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/results.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// The totals of one launch, from the metrics of `metric_sets::core`.
inline kernel_totals totals_of(counter_range const& range) {
  auto const share = [&](std::string_view name) { return range[name] / 100; };
  kernel_totals of;
  of.launches = 1;
  of.ns = range[metric::gpu_time];
  of.active_ns = of.ns * share(metric::sm_active);
  of.warp_ns = of.active_ns * share(metric::occupancy);
  of.cycles = of.active_ns * 1e-9 * range.sm_hertz();
  of.instructions = of.cycles * range[metric::ipc];
  of.dram_busy_ns = of.ns * share(metric::dram_share);
  of.dram_bytes = range[metric::dram_read] + range[metric::dram_write];
  of.l2_bytes = range[metric::l2_bytes];
  return of;
}

/// Sums the counters of launches by kernel. A trace of the same launches in one stream gives the
/// names, in the order of launches. Empty unless both hold the same number of launches.
inline totals_by_kernel name_totals(counter_values const& counted, model const& of) {
  totals_by_kernel all;
  if (counted.ranges_lost > 0 || counted.ranges.size() != of.kernels.size()) { return all; }
  std::vector<std::pair<std::int64_t, std::size_t>> runs;  // begin and row
  for (auto const& each : of.kernels) { runs.emplace_back(each.when.begin, runs.size()); }
  std::sort(runs.begin(), runs.end());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto const& run = of.kernels[runs[i].second];
    all[std::string{of.strings[run.name]}].add(totals_of(counted.ranges[i]));
  }
  return all;
}

namespace detail {

/// One side of a comparison of kernels: their part of the run, and the totals of one run.
struct kernel_side {
  double ns = 0;
  double launches = 0;
  kernel_totals amounts;
  /// Amounts are told per launch, or of all launches where kernels of several names are pooled.
  double items = 1;
};

/// True if DRAM is busier than the issue slots, on the slower side.
inline bool needs_memory(kernel_side const& control, kernel_side const& variant) {
  constexpr double a_cycle = 4;  // instructions that an SM can issue
  auto const& of = (control.ns > variant.ns ? control : variant).amounts;
  auto const issue = of.instructions / a_cycle / of.cycles * of.active_ns;
  if (std::isnan(issue) || std::isnan(of.dram_busy_ns)) { return of.dram_bytes > 0; }
  return of.dram_busy_ns >= issue;
}

/// Splits the change of one kernel. The time in a run is launches x contention x time alone. The
/// time alone is work / (SMs active x pace). Work and pace are DRAM bytes and bytes a second, or
/// instructions and clock x instructions a cycle. The change of the pace goes to the occupancy, as
/// far as the occupancy changed in the same direction; the rest stays unexplained.
inline kernel_change split_change(std::string name, kernel_side const& control,
                                  kernel_side const& variant) {
  kernel_change made{.name = std::move(name), .control_ns = control.ns, .variant_ns = variant.ns};
  made.unexplained_ns = made.delta_ns();
  if (!(control.ns > 0) || !(variant.ns > 0)) { return made; }
  // The change of a product, split by its factors: with `mean` the logarithmic mean of both
  // products, a factor accounts for `mean * ln(variant / control)`, and these times sum up to the
  // change.
  auto const mean = control.ns == variant.ns
                        ? control.ns
                        : (variant.ns - control.ns) / std::log(variant.ns / control.ns);
  auto const effect = [mean](double before, double after) {
    auto const ratio = after / before;
    return ratio > 0 && std::isfinite(ratio) ? mean * std::log(ratio) : 0;  // 0: unknown
  };
  auto const add = [&](kernel_cause what, double ns, double before, double after) {
    if (ns != 0) { made.causes.push_back({what, ns, before, after}); }
  };
  using side = kernel_side const&;
  using value_of = double (*)(kernel_side const&);
  auto const effect_of = [&](value_of value) { return effect(value(control), value(variant)); };
  auto const grows_with = [&](kernel_cause what, value_of value) {
    add(what, effect_of(value), value(control), value(variant));
  };
  auto const shrinks_with = [&](kernel_cause what, value_of value) {
    add(what, effect(value(variant), value(control)), value(control), value(variant));
  };
  if (!made.name.empty()) {
    grows_with(kernel_cause::launches, [](side of) { return of.launches; });
  }
  if (control.amounts.ns > 0 && variant.amounts.ns > 0) {
    made.by_memory = needs_memory(control, variant);
    grows_with(kernel_cause::contention, [](side of) { return of.ns / of.amounts.ns; });
    shrinks_with(kernel_cause::sms_active,
                 [](side of) { return of.amounts.active_ns / of.amounts.ns; });
    auto pace = 0.0;
    if (made.by_memory) {
      if (control.amounts.l2_bytes > 0 && variant.amounts.l2_bytes > 0) {
        grows_with(kernel_cause::l2_bytes, [](side of) { return of.amounts.l2_bytes / of.items; });
        grows_with(kernel_cause::l2_misses,
                   [](side of) { return of.amounts.dram_bytes / of.amounts.l2_bytes; });
      } else {
        grows_with(kernel_cause::dram_bytes,
                   [](side of) { return of.amounts.dram_bytes / of.items; });
      }
      pace = effect_of([](side of) { return of.amounts.active_ns / of.amounts.dram_bytes; });
    } else {
      grows_with(kernel_cause::instructions,
                 [](side of) { return of.amounts.instructions / of.items; });
      shrinks_with(kernel_cause::sm_clock,
                   [](side of) { return of.amounts.cycles / of.amounts.active_ns * 1e9; });
      pace = effect_of([](side of) { return of.amounts.cycles / of.amounts.instructions; });
    }
    auto const occupancy = [](side of) { return of.amounts.warp_ns / of.amounts.active_ns; };
    auto const most = -effect_of(occupancy);  // more warps shorten the time
    if (most * pace > 0) {
      auto const part = std::copysign(std::min(std::abs(most), std::abs(pace)), pace);
      add(kernel_cause::occupancy, part, occupancy(control), occupancy(variant));
    }
  }
  auto size = std::abs(made.delta_ns());
  for (auto const& each : made.causes) {
    made.unexplained_ns -= each.ns;
    size = std::max(size, std::abs(each.ns));
  }
  constexpr double rounding = 1e-12;
  if (std::abs(made.unexplained_ns) < rounding * size) { made.unexplained_ns = 0; }
  std::ranges::stable_sort(made.causes, std::greater{},
                           [](kernel_cause_part const& of) { return std::abs(of.ns); });
  return made;
}

}  // namespace detail

/// Splits the contribution of each kernel to a difference by the counters of both sides, the
/// largest contribution first. Kernels without counters are left out.
///
/// Kernels of one side only are pooled, since kernels that replace others do the same work.
/// Counters are read from kernels that run alone: effects of the rest of the batch are
/// `kernel_cause::contention`.
inline std::vector<kernel_change> explain_kernels(trace_difference const& found,
                                                  totals_by_kernel const& control,
                                                  totals_by_kernel const& variant) {
  std::vector<kernel_change> all;
  detail::kernel_side only_control, only_variant;
  bool all_known = true;
  for (auto const& each : found.changes) {
    if (each.what != entry_kind::kernel) { continue; }
    auto const of = [&](breakdown_entry const& sum, totals_by_kernel const& amounts) {
      auto const at = amounts.find(each.name);
      return detail::kernel_side{sum.ns, sum.count,
                                 at == amounts.end() ? kernel_totals{} : at->second};
    };
    auto const first = of(each.control, control);
    auto const second = of(each.variant, variant);
    if (first.launches > 0 && second.launches > 0) {
      if (first.amounts.launches > 0 && second.amounts.launches > 0) {
        // The totals of one run are the totals per launch times the launches of the run.
        auto const scaled = [](detail::kernel_side side) {
          side.amounts = kernel_totals{}.add(side.amounts, side.launches / side.amounts.launches);
          side.items = side.amounts.launches;
          return side;
        };
        all.push_back(detail::split_change(each.name, scaled(first), scaled(second)));
      }
      continue;
    }
    auto const& side = first.launches > 0 ? first : second;
    auto& pooled = first.launches > 0 ? only_control : only_variant;
    all_known = all_known && side.amounts.launches > 0;
    pooled.ns += side.ns;
    pooled.launches += side.launches;
    if (side.amounts.launches > 0) {
      pooled.amounts.add(side.amounts, side.launches / side.amounts.launches);
    }
  }
  if (all_known && only_control.launches > 0 && only_variant.launches > 0) {
    all.push_back(detail::split_change({}, only_control, only_variant));
  }
  std::ranges::stable_sort(all, std::greater{},
                           [](kernel_change const& of) { return std::abs(of.delta_ns()); });
  return all;
}

}  // namespace assay::trace
