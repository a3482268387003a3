// SPDX-License-Identifier: Apache-2.0
/// @file
/// `find_bound`: the limit that work runs into, from its counters by `bound_rules`.
#pragma once

#include <assay/trace/metrics.hpp>
#include <assay/trace/results.hpp>
#include <assay/workload/concepts.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace assay::trace {

/// If all conditions hold, the work is bound by `is`.
struct bound_rule {
  bound is = bound::unclear;
  std::string_view reason;
  std::array<std::optional<condition>, 3> when{};
};

/// A resource counts as used up from here on: real code reaches this part of a theoretical peak.
inline constexpr double saturated = 0.8;
/// A resource that is used less than this cannot be the limit.
inline constexpr double unsaturated = 0.6;
/// More than a fifth of the time idle is a larger loss than most changes gain.
inline constexpr double idle_loss = 0.2;
/// More than half of the time is more than all other parts together.
inline constexpr double most_of_all = 0.5;
/// A host that launches back to back needs one launch cost per kernel: below two the device waits.
inline constexpr double few_launches = 2;

/// The rules in order: the first rule with true conditions decides. An unknown number fulfils no
/// condition. Rules for resources that are used up come first, since no other limit can hold the
/// work up as long as one is.
inline constexpr auto bound_rules = [] {
  using enum quantity;
  auto const at_least = [](quantity of, double value) { return condition{of, true, value}; };
  auto const at_most = [](quantity of, double value) { return condition{of, false, value}; };
  return std::to_array<bound_rule>({
      {bound::memory, "DRAM is busy nearly all the time", {at_least(dram, saturated)}},
      {bound::memory,
       "it moves what it must nearly at the rate that was measured as the limit",
       {at_least(required_bytes, saturated)}},
      {bound::compute,
       "the tensor pipe is busy nearly all the time",
       {at_least(tensor, saturated)}},
      {bound::compute, "the FMA pipe is busy nearly all the time", {at_least(fma, saturated)}},
      {bound::compute,
       "it computes nearly at the rate that was measured as the limit",
       {at_least(flops, saturated)}},
      {bound::transfer,
       "copies take the time, and no kernel runs beside them",
       {at_least(copies_exposed, most_of_all)}},
      {bound::launch, "the device waits for the host", {at_least(host_bound, idle_loss)}},
      {bound::launch,
       "a kernel takes hardly longer than its launch",
       {at_most(time_per_launch_cost, few_launches)}},
      {bound::tail,
       "SMs stand idle: too few blocks, or the last ones are alone",
       {at_most(sm_active, 1 - idle_loss)}},
      {bound::compute, "nearly every issue slot is used", {at_least(issue, saturated)}},
      {bound::latency,
       "nothing is busy, and few instructions are issued",
       {at_most(issue, unsaturated), at_most(dram, unsaturated), at_most(pipe, unsaturated)}},
  });
}();

/// Facts about the work that are not counters.
struct workload_facts {
  traffic required = {};               ///< the bytes and FLOPs that the range needs
  double launches = 1;                 ///< kernels in the range
  double seconds = ceilings::unknown;  ///< timed without counters; unknown: take the counters' time
  /// Share of the time in which the device waited for the host, from a trace. Unknown: estimated
  /// from the time and the number of launches.
  double host_bound = ceilings::unknown;
  /// Share of the time in which copies ran and no kernel did, from a trace.
  double copies_exposed = ceilings::unknown;
  /// False: the device may have waited for the host for any time, so the rules on launches do not
  /// decide, and neither do those after them.
  bool host_waits_known = true;
};

namespace detail {

inline double share_of(double value, double limit) {
  return limit > 0 ? value / limit : ceilings::unknown;
}

/// The numbers that the rules read, in the order of `quantity`.
inline std::array<double, 11> numbers_of(work_bound const& of, workload_facts const& facts,
                                         ceilings const& limits) {
  auto const unknown = ceilings::unknown;
  auto const launch = share_of(share_of(of.seconds, facts.launches), limits.launch_seconds);
  auto const declared = facts.required.flops > 0 ? facts.required.flops : unknown;
  auto const flops = share_of(share_of(declared, of.seconds), limits.flops);
  return {std::isnan(facts.host_bound) ? launch : unknown,
          facts.host_bound,
          facts.copies_exposed,
          share_of(share_of(facts.required.bytes(), of.seconds), limits.dram_bytes),
          of.dram_share,
          of.tensor,
          of.fma,
          flops,
          std::fmax(of.tensor, std::fmax(of.fma, flops)),  // of those that are known
          of.issue,
          of.sm_active};
}

inline void decide(work_bound& of, workload_facts const& facts, ceilings const& limits) {
  auto const numbers = numbers_of(of, facts, limits);
  for (auto const& rule : bound_rules) {
    if (!facts.host_waits_known && rule.is == bound::launch) {
      of.reason =
          "nothing is clearly used up, and how long the device waits for the host is unknown";
      return;
    }
    std::vector<evidence> because;
    auto const holds = std::all_of(rule.when.begin(), rule.when.end(), [&](auto const& asked) {
      if (!asked) { return true; }
      because.push_back({*asked, numbers[static_cast<std::size_t>(asked->of)]});
      return asked->holds(because.back().value);
    });
    if (!holds) { continue; }
    of.limit = rule.is;
    of.reason = rule.reason;
    of.because = std::move(because);
    return;
  }
  of.reason = "no rule fits: nothing is clearly used up and nothing clearly free";
}

}  // namespace detail

/// Finds the bound of the work of one range. The metrics of `metric_sets::core` suffice for an
/// answer; the metrics of `deep` tell the FMA pipe too.
inline work_bound find_bound(counter_range const& range, workload_facts const& facts = {},
                             ceilings const& limits = {}) {
  constexpr double schedulers = 4;  // per SM; each issues at most one instruction a cycle
  auto const share = [&](std::string_view name) { return range[name] / 100; };
  work_bound of;
  of.seconds = std::isnan(facts.seconds) ? range[metric::gpu_time] * 1e-9 : facts.seconds;
  of.occupancy = share(metric::occupancy);
  of.ipc = range[metric::ipc];
  of.issue = std::isnan(share(metric::issue)) ? of.ipc / schedulers : share(metric::issue);
  of.sm_active = share(metric::sm_active);
  of.tensor = share(metric::tensor_pipe);
  of.fma = share(metric::fma_pipe);
  auto const both = range[metric::dram_read] + range[metric::dram_write];
  of.dram_bytes = std::isnan(both) ? range[metric::dram_bytes] : both;
  of.dram_bytes_per_second = detail::share_of(of.dram_bytes, of.seconds);
  of.dram_share = detail::share_of(of.dram_bytes_per_second, limits.dram_bytes);
  if (std::isnan(of.dram_share)) { of.dram_share = share(metric::dram_share); }
  detail::decide(of, facts, limits);
  return of;
}

}  // namespace assay::trace
