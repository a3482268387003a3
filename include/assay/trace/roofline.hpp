// SPDX-License-Identifier: Apache-2.0
/// @file
/// `roofline`: the bound of a kernel by its counters and `bound_rules`, with rates, shares of
/// limits and the place under the roofline.
#pragma once

#include <assay/core/requirements.hpp>
#include <assay/trace/metrics.hpp>
#include <assay/workload/concepts.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// The limit that the work runs into; `unclear` where no rule fits the numbers.
enum class bound { unclear, memory, compute, latency, launch, tail, transfer };

constexpr std::string_view to_string(bound which) noexcept {
  constexpr std::array<std::string_view, 7> names{"unclear", "memory", "compute", "latency",
                                                  "launch",  "tail",   "transfer"};
  return names[static_cast<std::size_t>(which)];
}

/// A number that a rule reads. All but `time_per_launch_cost` are shares of 1.
enum class quantity {
  time_per_launch_cost,  ///< the time of a kernel over the cost of its launch
  host_bound,            ///< the part of the time in which the device waited for the host
  copies_exposed,        ///< the part of the time in which copies ran and no kernel did
  required_bytes,        ///< the rate of the bytes that must move, over the measured limit
  dram,
  l2,
  l2_hit,
  tensor,
  fma,
  flops,
  pipe,  ///< the highest of tensor, fma and flops
  issue,
  sm_active,
  last_wave,   ///< the places that the last wave leaves empty, over the places of all waves
  memory_wait  ///< the part of the known reasons to wait that is memory
};

constexpr std::string_view to_string(quantity which) noexcept {
  constexpr std::array<std::string_view, 15> names{"time in launch costs",
                                                   "waiting for the host",
                                                   "copies without a kernel",
                                                   "rate of what must move",
                                                   "DRAM throughput",
                                                   "L2 throughput",
                                                   "L2 hit rate",
                                                   "tensor pipe",
                                                   "FMA pipe",
                                                   "FLOP rate",
                                                   "busiest pipe",
                                                   "issue slots",
                                                   "SMs active",
                                                   "idle in the last wave",
                                                   "waiting for memory"};
  return names[static_cast<std::size_t>(which)];
}

/// A limit for one number.
struct condition {
  quantity of = quantity::dram;
  bool at_least = true;  ///< else at most
  double threshold = 0;
  constexpr bool holds(double value) const noexcept {  // an unknown value is NaN: false
    return at_least ? value >= threshold : value <= threshold;
  }
};

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
/// A third of all waiting is more than any of the usual handful of reasons has by chance.
inline constexpr double main_wait = 1.0 / 3;
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
      {bound::memory,
       "the L2 cache serves nearly all and is busy",
       {at_least(l2_hit, saturated), at_least(l2, saturated), at_most(dram, unsaturated)}},
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
      {bound::tail, "the last wave of blocks leaves SMs empty", {at_least(last_wave, idle_loss)}},
      {bound::compute, "nearly every issue slot is used", {at_least(issue, saturated)}},
      {bound::latency,
       "warps wait for memory that is not busy: too few requests under way",
       {at_least(memory_wait, main_wait), at_most(dram, unsaturated), at_most(pipe, unsaturated)}},
      {bound::latency,
       "nothing is busy, and few instructions are issued",
       {at_most(issue, unsaturated), at_most(dram, unsaturated), at_most(pipe, unsaturated)}},
  });
}();

/// The measured limits of the device, per second; NaN where there is no measurement.
struct ceilings {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double dram_bytes = unknown;
  double l2_bytes = unknown;
  double l1_bytes = unknown;
  double flops = unknown;
  /// The seconds that a launch costs the host; the default was measured for an empty kernel on an
  /// H200.
  double launch_seconds = 3e-6;
};

/// Facts about the work that are not counters.
struct workload_facts {
  traffic required = {};               ///< the bytes and FLOPs that the range needs
  double launches = 1;                 ///< kernels in the range
  double seconds = ceilings::unknown;  ///< timed without counters; unknown: take the counters' time
  double waves = ceilings::unknown;    ///< blocks over those that are resident at once
  /// Share of the time in which the device waited for the host, from a trace. Unknown: estimated
  /// from the time and the number of launches.
  double host_bound = ceilings::unknown;
  /// Share of the time in which copies ran and no kernel did, from a trace.
  double copies_exposed = ceilings::unknown;
};

/// Bytes, rate and hits at one level of memory.
struct memory_level {
  double bytes = ceilings::unknown;
  double bytes_per_second = ceilings::unknown;
  double share = ceilings::unknown;  ///< part of the measured ceiling, else of the counters' peak
  double hit_rate = ceilings::unknown;
};

/// A number that fulfilled a condition of the rule that decided.
struct evidence {
  condition asked;
  double value = 0;
};

/// The meaning of a range's counters; NaN wherever something was not counted.
struct roofline {
  double seconds = ceilings::unknown;          ///< the time over which rates are taken
  double counted_seconds = ceilings::unknown;  ///< the time with counters, longer than without
  double sm_hertz = ceilings::unknown;
  double occupancy = ceilings::unknown;  ///< achieved, of the warps that an SM can hold
  double ipc = ceilings::unknown;        ///< instructions a cycle per SM, at most 4
  double issue = ceilings::unknown;      ///< share of issue slots used
  double sm_active = ceilings::unknown;
  double tensor = ceilings::unknown;
  double fma = ceilings::unknown;
  memory_level dram, l2, l1;
  double dram_over_required = ceilings::unknown;  ///< DRAM bytes over those that must move
  double flops_per_second = ceilings::unknown;    ///< declared FLOPs over `seconds`
  double intensity = ceilings::unknown;           ///< declared FLOPs per DRAM byte
  double ridge = ceilings::unknown;               ///< intensity from which on compute is the limit
  double roof = ceilings::unknown;                ///< FLOP/s that this intensity allows
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
  constexpr std::size_t enough = 3;  // the share of a single reason is 1 and says nothing
  double all = 0;
  double memory = ceilings::unknown;
  for (auto const& [name, warps] : of.waits) {
    all += warps;
    if (name == "long_scoreboard") { memory = warps; }
  }
  return of.waits.size() >= enough ? share_of(memory, all) : ceilings::unknown;
}

inline double value_of(quantity which, roofline const& of, workload_facts const& facts,
                       ceilings const& limits) {
  auto const flops = share_of(of.flops_per_second, limits.flops);
  switch (which) {
    case quantity::time_per_launch_cost:
      if (!std::isnan(facts.host_bound)) { return ceilings::unknown; }
      return share_of(share_of(of.seconds, facts.launches), limits.launch_seconds);
    case quantity::host_bound:
      return facts.host_bound;
    case quantity::copies_exposed:
      return facts.copies_exposed;
    case quantity::required_bytes:
      return share_of(share_of(facts.required.bytes(), of.seconds), limits.dram_bytes);
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

inline void decide(roofline& of, workload_facts const& facts, ceilings const& limits) {
  for (auto const& rule : bound_rules) {
    std::vector<evidence> because;
    auto const holds = std::ranges::all_of(rule.when, [&](auto const& asked) {
      if (!asked) { return true; }
      because.push_back({*asked, value_of(asked->of, of, facts, limits)});
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

/// Classifies the counters of one range by `bound_rules`. The metrics of `metric_sets::core`
/// suffice for an answer; the metrics of `deep` make the answer more precise.
inline roofline roofline_of(counter_range const& range, workload_facts const& facts = {},
                            ceilings const& limits = {}) {
  constexpr double schedulers = 4;  // per SM; each issues at most one instruction a cycle
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

  of.dram_over_required = detail::share_of(dram_bytes, facts.required.bytes());
  if (facts.required.flops > 0) {
    of.flops_per_second = detail::share_of(facts.required.flops, of.seconds);
    of.intensity = detail::share_of(facts.required.flops, dram_bytes);
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
