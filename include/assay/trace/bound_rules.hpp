// SPDX-License-Identifier: Apache-2.0
/// @file
/// `bound_rules`: by which numbers work is memory, compute, latency, launch, tail or transfer
/// bound.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace assay::trace {

/// Which limit the work runs into; `unclear` where no rule fits the numbers.
enum class bound { unclear, memory, compute, latency, launch, tail, transfer };

constexpr std::string_view to_string(bound which) noexcept {
  constexpr std::array<std::string_view, 7> names{"unclear", "memory", "compute", "latency",
                                                  "launch",  "tail",   "transfer"};
  return names[static_cast<std::size_t>(which)];
}

/// A number that a rule looks at. All but `launches_worth` and `waves` are shares of 1.
enum class quantity {
  launches_worth,  ///< time of a kernel, in costs of a launch
  host_late,       ///< of the time, that the device waited for the host
  copies_exposed,  ///< of the time, that copies ran and no kernel did
  must_move,       ///< bytes that must move a second, of the limit that was measured
  dram,
  l2,
  l2_hit,
  tensor,
  fma,
  flops,
  pipe,  ///< the highest of tensor, fma and flops
  issue,
  sm_active,
  last_wave,   ///< of its places that the last wave leaves empty, spread over all waves
  memory_wait  ///< of the warps' known reasons to wait
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

/// What a rule asks of one number.
struct condition {
  quantity of = quantity::dram;
  bool at_least = true;
  double threshold = 0;
};

/// All conditions hold: that is the bound, for this reason.
struct bound_rule {
  bound is = bound::unclear;
  std::string_view reason;
  std::array<condition, 3> when{};
  std::size_t conditions = 0;
};

/// From here on a resource counts as used up: what real code reaches of a peak on paper.
inline constexpr double saturated = 0.8;
/// Below this a resource cannot be what time is spent on.
inline constexpr double unsaturated = 0.6;
/// What idles for more than a fifth of the time is a larger loss than most changes gain.
inline constexpr double idle_loss = 0.2;
/// A third of all waiting: more than any of the usual handful of reasons has by chance.
inline constexpr double main_wait = 1.0 / 3;
/// What takes more than half of the time is more than all else together.
inline constexpr double most_of_all = 0.5;
/// A host that launches back to back needs one cost a launch, so up to two the device waits.
inline constexpr double few_launches = 2;

/// How counters are read; the first rule whose conditions all hold decides, and what is unknown
/// holds for none. What is used up comes first: as long as it is, nothing else holds the work up.
inline constexpr auto bound_rules = std::to_array<bound_rule>({
    {bound::memory, "DRAM is busy nearly all the time", {{{quantity::dram, true, saturated}}}, 1},
    {bound::memory,
     "it moves what it must nearly at the rate that was measured as the limit",
     {{{quantity::must_move, true, saturated}}},
     1},
    {bound::memory,
     "the L2 cache serves nearly all and is busy",
     {{{quantity::l2_hit, true, saturated},
       {quantity::l2, true, saturated},
       {quantity::dram, false, unsaturated}}},
     3},
    {bound::compute,
     "the tensor pipe is busy nearly all the time",
     {{{quantity::tensor, true, saturated}}},
     1},
    {bound::compute,
     "the FMA pipe is busy nearly all the time",
     {{{quantity::fma, true, saturated}}},
     1},
    {bound::compute,
     "it computes nearly at the rate that was measured as the limit",
     {{{quantity::flops, true, saturated}}},
     1},
    {bound::transfer,
     "copies take the time, and no kernel runs beside them",
     {{{quantity::copies_exposed, true, most_of_all}}},
     1},
    {bound::launch, "the device waits for the host", {{{quantity::host_late, true, idle_loss}}}, 1},
    {bound::launch,
     "a kernel takes hardly longer than its launch",
     {{{quantity::launches_worth, false, few_launches}}},
     1},
    {bound::tail,
     "SMs stand idle: too few blocks, or the last ones are alone",
     {{{quantity::sm_active, false, 1 - idle_loss}}},
     1},
    {bound::tail,
     "the last wave of blocks leaves SMs empty",
     {{{quantity::last_wave, true, idle_loss}}},
     1},
    {bound::compute, "nearly every issue slot is used", {{{quantity::issue, true, saturated}}}, 1},
    {bound::latency,
     "warps wait for memory that is not busy: too few requests under way",
     {{{quantity::memory_wait, true, main_wait},
       {quantity::dram, false, unsaturated},
       {quantity::pipe, false, unsaturated}}},
     3},
    {bound::latency,
     "nothing is busy, and few instructions are issued",
     {{{quantity::issue, false, unsaturated},
       {quantity::dram, false, unsaturated},
       {quantity::pipe, false, unsaturated}}},
     3},
});

}  // namespace assay::trace
