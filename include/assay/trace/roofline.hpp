// SPDX-License-Identifier: Apache-2.0
/// @file
/// What bounds a kernel, from its counters: rates, shares of limits, the place under the roofline.
#pragma once

#include <assay/trace/bound_rules.hpp>
#include <assay/trace/counter_values.hpp>
#include <assay/workload/concepts.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// What the device was seen to reach, per second; NaN where nobody measured it.
struct ceilings {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double dram_bytes = unknown;
  double l2_bytes = unknown;
  double l1_bytes = unknown;
  double flops = unknown;
  /// Seconds that a launch costs the host; the default is that of an empty kernel on an H200.
  double launch_seconds = 3e-6;
};

/// What is known of the work besides its counters.
struct work_facts {
  traffic must = {};                   ///< what it has to move and do, over the whole range
  double launches = 1;                 ///< kernels in the range
  double seconds = ceilings::unknown;  ///< as timed without counters; unknown: take the counters'
  double waves = ceilings::unknown;    ///< blocks over those that are resident at once
  /// Share of the time in which the device had nothing to do as the host asked late, of a trace.
  /// Unknown: guessed from what launches cost one thread.
  double host_late = ceilings::unknown;
  /// Share of the time in which copies ran and no kernel did, of a trace.
  double copies_exposed = ceilings::unknown;
};

/// Bytes, rate and hits at one level of memory.
struct memory_level {
  double bytes = ceilings::unknown;
  double bytes_per_second = ceilings::unknown;
  double share = ceilings::unknown;  ///< of the ceiling that was measured, else of the counters'
  double hit_rate = ceilings::unknown;
};

/// One number that a rule was decided by.
struct evidence {
  condition asked;
  double value = 0;
};

/// What the counters of a range say about the work; NaN wherever something was not counted.
struct roofline {
  double seconds = ceilings::unknown;          ///< that rates are taken over
  double counted_seconds = ceilings::unknown;  ///< that the counters saw, longer than without them
  double sm_hertz = ceilings::unknown;
  double occupancy = ceilings::unknown;  ///< achieved, of the warps that an SM can hold
  double ipc = ceilings::unknown;        ///< of an SM, at most 4
  double issue = ceilings::unknown;      ///< share of issue slots used
  double sm_active = ceilings::unknown;
  double tensor = ceilings::unknown;
  double fma = ceilings::unknown;
  memory_level dram, l2, l1;
  double dram_over_must = ceilings::unknown;    ///< DRAM bytes over those that must move
  double flops_per_second = ceilings::unknown;  ///< of the declared FLOPs
  double intensity = ceilings::unknown;         ///< declared FLOPs per DRAM byte
  double ridge = ceilings::unknown;             ///< intensity from which on compute is the limit
  double roof = ceilings::unknown;              ///< FLOP/s that this intensity allows
  double roof_share = ceilings::unknown;
  /// Warps of a scheduler that wait for each instruction issued, by reason, most first.
  std::vector<std::pair<std::string, double>> waits;
  bound limit = bound::unclear;
  std::string reason;
  std::vector<evidence> because;
};

namespace detail {

inline double share_of(double value, double limit) {
  return limit > 0 ? value / limit : ceilings::unknown;
}

/// The largest of those that are known.
inline double largest(std::span<double const> values) {
  auto found = ceilings::unknown;
  for (auto const each : values) {
    if (!(found >= each) && !std::isnan(each)) { found = each; }
  }
  return found;
}

inline memory_level level_of(double bytes, double seconds, double ceiling, double hit_percent) {
  auto const rate = share_of(bytes, seconds);
  return {bytes, rate, share_of(rate, ceiling), hit_percent / 100};
}

inline double memory_wait(roofline const& of) {
  constexpr std::size_t enough = 3;  // of one reason alone, its share is 1 and says nothing
  double all = 0;
  double memory = ceilings::unknown;
  for (auto const& [name, warps] : of.waits) {
    all += warps;
    if (name == "long_scoreboard") { memory = warps; }
  }
  return of.waits.size() >= enough ? share_of(memory, all) : ceilings::unknown;
}

inline double value_of(quantity which, roofline const& of, work_facts const& facts,
                       ceilings const& limits) {
  auto const flops = share_of(of.flops_per_second, limits.flops);
  switch (which) {
    case quantity::launches_worth:
      if (!std::isnan(facts.host_late)) { return ceilings::unknown; }
      return share_of(share_of(of.seconds, facts.launches), limits.launch_seconds);
    case quantity::host_late:
      return facts.host_late;
    case quantity::copies_exposed:
      return facts.copies_exposed;
    case quantity::must_move:
      return share_of(share_of(facts.must.bytes(), of.seconds), limits.dram_bytes);
    case quantity::dram:
      return of.dram.share;
    case quantity::l2:
      return of.l2.share;
    case quantity::l2_hit:
      return of.l2.hit_rate;
    case quantity::tensor:
      return of.tensor;
    case quantity::fma:
      return of.fma;
    case quantity::flops:
      return flops;
    case quantity::pipe:
      return largest(std::array{of.tensor, of.fma, flops});
    case quantity::issue:
      return of.issue;
    case quantity::sm_active:
      return of.sm_active;
    case quantity::last_wave:
      return facts.waves > 0 ? 1 - facts.waves / std::ceil(facts.waves) : ceilings::unknown;
    case quantity::memory_wait:
      return memory_wait(of);
  }
  return ceilings::unknown;
}

inline void decide(roofline& of, work_facts const& facts, ceilings const& limits) {
  for (auto const& rule : bound_rules) {
    std::vector<evidence> because;
    for (auto const& asked : std::span{rule.when}.first(rule.conditions)) {
      auto const value = value_of(asked.of, of, facts, limits);
      auto const holds = asked.at_least ? value >= asked.threshold : value <= asked.threshold;
      if (holds) { because.push_back({asked, value}); }
    }
    if (because.size() != rule.conditions) { continue; }
    of.limit = rule.is;
    of.reason = rule.reason;
    of.because = std::move(because);
    return;
  }
  of.reason = "no rule fits: nothing is clearly used up and nothing clearly free";
}

}  // namespace detail

/// Reads the counters of one range by `bound_rules`. The metrics of `metric_sets::core` suffice for
/// an answer, those of `deep` make it sharper.
inline roofline read_counters(counter_range const& range, work_facts const& facts = {},
                              ceilings const& limits = {}) {
  constexpr double schedulers = 4;  // of an SM; each issues at most one instruction a cycle
  auto const share = [&](std::string_view name) { return range[name] / 100; };
  roofline of;
  of.counted_seconds = range[metric::gpu_time] * 1e-9;
  of.seconds = std::isnan(facts.seconds) ? of.counted_seconds : facts.seconds;
  of.sm_hertz = range.sm_hertz();
  of.occupancy = share(metric::occupancy);
  of.ipc = range[metric::ipc];
  of.issue = std::isnan(share(metric::issue)) ? of.ipc / schedulers : share(metric::issue);
  of.sm_active = share(metric::sm_active);
  of.tensor = share(metric::tensor_pipe);
  of.fma = share(metric::fma_pipe);

  auto const both = range[metric::dram_read] + range[metric::dram_write];
  auto const dram_bytes = std::isnan(both) ? range[metric::dram_bytes] : both;
  of.dram = detail::level_of(dram_bytes, of.seconds, limits.dram_bytes, ceilings::unknown);
  if (std::isnan(of.dram.share)) { of.dram.share = share(metric::dram_share); }
  of.l2 =
      detail::level_of(range[metric::l2_bytes], of.seconds, limits.l2_bytes, range[metric::l2_hit]);
  of.l1 =
      detail::level_of(range[metric::l1_bytes], of.seconds, limits.l1_bytes, range[metric::l1_hit]);

  of.dram_over_must = detail::share_of(dram_bytes, facts.must.bytes());
  if (facts.must.flops > 0) {
    of.flops_per_second = detail::share_of(facts.must.flops, of.seconds);
    of.intensity = detail::share_of(facts.must.flops, dram_bytes);
    of.ridge = detail::share_of(limits.flops, limits.dram_bytes);
    auto const by_memory = of.intensity * limits.dram_bytes;
    of.roof = by_memory < limits.flops ? by_memory : limits.flops;
    if (std::isnan(by_memory)) { of.roof = ceilings::unknown; }
    of.roof_share = detail::share_of(of.flops_per_second, of.roof);
  }

  for (auto const each : metric::stalls) {
    if (auto const warps = range[metric::stall(each)]; !std::isnan(warps)) {
      of.waits.emplace_back(each, warps);
    }
  }
  std::ranges::stable_sort(of.waits, std::greater{}, &std::pair<std::string, double>::second);
  detail::decide(of, facts, limits);
  return of;
}

}  // namespace assay::trace
