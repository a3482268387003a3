// SPDX-License-Identifier: Apache-2.0
/// @file
/// Why kernels take more or less time in one run than in another, by their counters: each counter's
/// change as time, in parts that sum up.
#pragma once

#include <assay/trace/counter_values.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/model.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// What launches of a kernel did while nothing else ran, in amounts that add up over launches. NaN
/// is what nobody counted.
struct kernel_amounts {
  double launches = 0;
  double ns = 0;
  double active_ns = 0;     ///< of an SM, on average, with work on it
  double warp_ns = 0;       ///< those, times the share of its warps that were there
  double cycles = 0;        ///< SM clocks of `active_ns`
  double instructions = 0;  ///< of an SM, on average, by warp
  double dram_busy_ns = 0;  ///< that DRAM needs for the bytes at its peak
  double dram_bytes = 0;
  double l2_bytes = 0;  ///< asked of the L2 cache

  kernel_amounts& add(kernel_amounts const& more, double times = 1) noexcept {
    for (auto const member :
         {&kernel_amounts::launches, &kernel_amounts::ns, &kernel_amounts::active_ns,
          &kernel_amounts::warp_ns, &kernel_amounts::cycles, &kernel_amounts::instructions,
          &kernel_amounts::dram_busy_ns, &kernel_amounts::dram_bytes, &kernel_amounts::l2_bytes}) {
      this->*member += times * more.*member;
    }
    return *this;
  }
  bool operator==(kernel_amounts const&) const = default;
};

/// By the name that the trace has.
using amounts_by_kernel = std::map<std::string, kernel_amounts, std::less<>>;

/// One launch, from the metrics of `metric_sets::core`.
inline kernel_amounts amounts_of(counter_range const& range) {
  auto const share = [&](std::string_view name) { return range[name] / 100; };
  kernel_amounts of;
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

/// Counters of each kernel, in the order of their launches, under the names that a trace of the
/// same launches in one stream gives them. Empty unless there are as many of both.
inline amounts_by_kernel name_amounts(counter_values const& counted, model const& of) {
  amounts_by_kernel all;
  if (counted.ranges_lost > 0 || counted.ranges.size() != of.kernels.size()) { return all; }
  std::vector<kernel_run const*> runs;
  for (auto const& each : of.kernels) { runs.push_back(&each); }
  std::stable_sort(runs.begin(), runs.end(),
                   [](auto* a, auto* b) { return a->when.begin < b->when.begin; });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    all[std::string{of.strings[runs[i]->name]}].add(amounts_of(counted.ranges[i]));
  }
  return all;
}

/// What makes a kernel's time longer or shorter.
enum class kernel_cause : std::uint8_t {
  launches,      ///< how often it runs in a batch
  neighbours,    ///< its time in the batch over its time alone: what runs beside it
  sms_active,    ///< too few blocks, or a tail: less is longer
  l2_bytes,      ///< asked of the L2 cache
  l2_misses,     ///< DRAM bytes for each of those
  dram_bytes,    ///< where the L2 cache's were not counted
  instructions,  ///< where issuing them is more of the time than DRAM is
  sm_clock,      ///< there
  occupancy      ///< as far as the pace changed with it
};

constexpr std::string_view label(kernel_cause which) noexcept {
  constexpr std::array<std::string_view, 9> names{
      "launches",     "time beside others, of that alone",
      "SMs active",   "L2 traffic",
      "L2 misses",    "DRAM traffic",
      "instructions", "SM clock",
      "occupancy"};
  return names[static_cast<std::size_t>(which)];
}

/// What one cause comes to in time.
struct kernel_cause_part {
  kernel_cause what = kernel_cause::launches;
  double ns = 0;
  double share = 0;    ///< of the whole difference; NaN where that is zero
  double control = 0;  ///< the quantity: a count, bytes, cycles a second or a share of 1
  double variant = 0;
};

/// A kernel's change, split up by counters: `delta_ns` is the sum of the causes and `left_ns`. It
/// is the same time that the devices' view has under that name, so it is never added to it.
struct kernel_account {
  std::string name;       ///< empty: all kernels that only one side has, together
  double control_ns = 0;  ///< of the run
  double variant_ns = 0;
  double share = 0;                            ///< of the whole difference
  bool by_memory = false;                      ///< DRAM is what they need most, else issue slots
  std::vector<kernel_cause_part> causes = {};  ///< what accounts for most first
  double left_ns = 0;  ///< the pace of what is resident: no counter here says why it changed
  double delta_ns() const noexcept { return variant_ns - control_ns; }
};

namespace detail {

/// Kernels of both sides that are compared: their part of the run, and amounts of one run.
struct kernel_side {
  double ns = 0;
  double launches = 0;
  kernel_amounts amounts;
};

inline double share_of_whole(double ns, double whole) {
  return whole == 0 ? std::numeric_limits<double>::quiet_NaN() : ns / whole;
}

/// Splits the change of a product by its factors: with `L` the logarithmic mean of both products
/// each factor has `L ln(variant / control)`, and those sum up to the change without rest.
class product_change {
 public:
  product_change(double control, double variant, double whole, std::vector<kernel_cause_part>& into)
      : mean_(control == variant ? control : (variant - control) / std::log(variant / control)),
        whole_(whole),
        into_(into) {}

  /// What a factor accounts for; 0 where it is not known.
  double effect(double control, double variant) const {
    auto const ratio = variant / control;
    return ratio > 0 && std::isfinite(ratio) ? mean_ * std::log(ratio) : 0;
  }
  /// Adds a cause that came to `ns`; whether it did at all.
  void add(kernel_cause what, double ns, double control, double variant) {
    if (ns == 0) { return; }
    into_.push_back({what, ns, share_of_whole(ns, whole_), control, variant});
  }
  /// A factor that lengthens the kernel as it grows.
  void grows_with(kernel_cause what, double control, double variant) {
    add(what, effect(control, variant), control, variant);
  }
  /// A factor that shortens it.
  void shrinks_with(kernel_cause what, double control, double variant) {
    add(what, effect(variant, control), control, variant);
  }

 private:
  double mean_;
  double whole_;
  std::vector<kernel_cause_part>& into_;
};

/// Whether DRAM is busy for more of the time than issue slots are, on the slower side.
inline bool needs_memory(kernel_side const& control, kernel_side const& variant) {
  constexpr double a_cycle = 4;  // instructions that an SM can issue
  auto const& of = (control.ns > variant.ns ? control : variant).amounts;
  auto const issue = of.instructions / a_cycle / of.cycles * of.active_ns;
  if (std::isnan(issue) || std::isnan(of.dram_busy_ns)) { return of.dram_bytes > 0; }
  return of.dram_busy_ns >= issue;
}

/// A run's time in a kernel is launches x neighbours x time alone, and that is, with the rates of
/// SMs that have work, work / (SMs active x pace): DRAM bytes at bytes a second, or instructions at
/// clock x instructions a cycle. The pace is what is left; as much of its change as the occupancy
/// changed the same way goes to that.
inline kernel_account account_for(std::string name, kernel_side const& control,
                                  kernel_side const& variant, double whole) {
  kernel_account made{.name = std::move(name), .control_ns = control.ns, .variant_ns = variant.ns};
  made.share = share_of_whole(made.delta_ns(), whole);
  made.left_ns = made.delta_ns();
  if (!(control.ns > 0) || !(variant.ns > 0)) { return made; }
  product_change change{control.ns, variant.ns, whole, made.causes};
  auto const both = [&](auto&& value, auto&& use) { use(value(control), value(variant)); };
  using side = kernel_side const&;
  if (!made.name.empty()) {
    change.grows_with(kernel_cause::launches, control.launches, variant.launches);
  }
  auto const add = [&](kernel_cause what, auto&& value) {
    change.grows_with(what, value(control), value(variant));
  };
  auto const counted = control.amounts.ns > 0 && variant.amounts.ns > 0;
  if (counted) {
    // Of one launch, or of all of them where kernels of several names are together.
    auto const times = [&](side of) { return made.name.empty() ? 1 : of.amounts.launches; };
    made.by_memory = needs_memory(control, variant);
    add(kernel_cause::neighbours, [](side of) { return of.ns / of.amounts.ns; });
    both([](side of) { return of.amounts.active_ns / of.amounts.ns; },
         [&](double c, double v) { change.shrinks_with(kernel_cause::sms_active, c, v); });
    auto pace = 0.0;
    if (made.by_memory) {
      auto const known = control.amounts.l2_bytes > 0 && variant.amounts.l2_bytes > 0;
      if (known) {
        add(kernel_cause::l2_bytes, [&](side of) { return of.amounts.l2_bytes / times(of); });
        add(kernel_cause::l2_misses,
            [](side of) { return of.amounts.dram_bytes / of.amounts.l2_bytes; });
      } else {
        add(kernel_cause::dram_bytes, [&](side of) { return of.amounts.dram_bytes / times(of); });
      }
      both([](side of) { return of.amounts.active_ns / of.amounts.dram_bytes; },
           [&](double c, double v) { pace = change.effect(c, v); });
    } else {
      add(kernel_cause::instructions, [&](side of) { return of.amounts.instructions / times(of); });
      both([](side of) { return of.amounts.cycles / of.amounts.active_ns * 1e9; },
           [&](double c, double v) { change.shrinks_with(kernel_cause::sm_clock, c, v); });
      both([](side of) { return of.amounts.cycles / of.amounts.instructions; },
           [&](double c, double v) { pace = change.effect(c, v); });
    }
    both([](side of) { return of.amounts.warp_ns / of.amounts.active_ns; },
         [&](double c, double v) {
           auto const most = change.effect(v, c);
           if (most * pace <= 0) { return; }
           change.add(kernel_cause::occupancy,
                      std::copysign(std::min(std::abs(most), std::abs(pace)), pace), c, v);
         });
  }
  auto size = std::abs(made.delta_ns());
  for (auto const& each : made.causes) {
    made.left_ns -= each.ns;
    size = std::max(size, std::abs(each.ns));
  }
  constexpr double rounding = 1e-12;
  if (std::abs(made.left_ns) < rounding * size) { made.left_ns = 0; }
  std::stable_sort(made.causes.begin(), made.causes.end(),
                   [](auto const& a, auto const& b) { return std::abs(a.ns) > std::abs(b.ns); });
  return made;
}

}  // namespace detail

/// Splits up what each kernel contributes to a difference by the counters of both sides, what
/// contributes most first. Kernels that only one side has are taken together: where some were
/// replaced by others, these do the same work. Kernels that nobody counted are left out.
///
/// The counters are those of kernels that ran alone; what is otherwise in the batch is
/// `kernel_cause::neighbours`.
inline std::vector<kernel_account> account_for_kernels(trace_difference const& found,
                                                       amounts_by_kernel const& control,
                                                       amounts_by_kernel const& variant) {
  std::vector<kernel_account> all;
  detail::kernel_side only_control, only_variant;
  bool all_known = true;
  for (auto const& each : found.changes) {
    if (each.view != seen_by::devices || each.what != entry_kind::kernel) { continue; }
    auto const of = [&](ledger_sum const& sum, amounts_by_kernel const& amounts) {
      auto const at = amounts.find(each.name);
      return detail::kernel_side{sum.ns, sum.count,
                                 at == amounts.end() ? kernel_amounts{} : at->second};
    };
    auto const first = of(each.control, control);
    auto const second = of(each.variant, variant);
    if (first.launches > 0 && second.launches > 0) {
      if (first.amounts.launches > 0 && second.amounts.launches > 0) {
        // Amounts of one run: those of a launch, as often as it is launched there.
        auto const scaled = [](detail::kernel_side side) {
          side.amounts = kernel_amounts{}.add(side.amounts, side.launches / side.amounts.launches);
          return side;
        };
        all.push_back(
            detail::account_for(each.name, scaled(first), scaled(second), found.difference_ns));
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
    all.push_back(detail::account_for({}, only_control, only_variant, found.difference_ns));
  }
  std::stable_sort(all.begin(), all.end(), [](auto const& a, auto const& b) {
    return std::abs(a.delta_ns()) > std::abs(b.delta_ns());
  });
  return all;
}

}  // namespace assay::trace
