// SPDX-License-Identifier: Apache-2.0
/// @file
/// The results of analyses, as an explanation holds them; the analyses are in headers of their own.
#pragma once

#include <assay/core/requirements.hpp>
#include <assay/stats/five_numbers.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// The cause for which a device or stream was idle before its next operation.
enum class idle_cause : std::uint8_t {
  host_bound,    ///< the launching call had not returned when the device became idle
  dependency,    ///< the operation was launched in time, but its stream waited for an event
  stream_order,  ///< the operation was launched in time, and the one before it in its stream had
                 ///< just ended: a device takes some time from one to the next
  tracer,        ///< the tracing or one-time work of the driver delayed the host
  other          ///< launched in time and no cause is recorded, or the call is not in the trace
};
inline constexpr std::size_t idle_causes = 5;

constexpr std::string_view to_string(idle_cause cause) noexcept {
  constexpr std::array<std::string_view, idle_causes> names{"host bound", "dependency",
                                                            "stream order", "tracer", "other"};
  return names[static_cast<std::size_t>(cause)];
}

/// The kind of an entry of a breakdown.
enum class entry_kind : std::uint8_t {
  kernel,      ///< device: kernels by name
  copy,        ///< device: copies by direction, while no kernel ran
  memset,      ///< device: memsets, while no kernel ran
  idle,        ///< device: idle time by cause
  edge,        ///< device: the time before the first and after the last operation
  call,        ///< host: CUDA calls by name
  allocation,  ///< host: calls that allocate or release
  lock,        ///< host: ranges and calls that wait for a lock
  waiting,     ///< host: calls that wait for a device
  host_code    ///< host: the time outside of all calls and locks
};

constexpr std::string_view to_string(entry_kind kind) noexcept {
  constexpr auto names =
      std::to_array<std::string_view>({"kernel", "copy", "set", "idle", "edge", "call",
                                       "allocation", "lock", "waiting", "host code"});
  return names[static_cast<std::size_t>(kind)];
}

/// True for an entry of the host: a time in which devices waited for it.
constexpr bool is_of_host(entry_kind kind) noexcept { return kind >= entry_kind::call; }

/// The sums of one entry, for one run: a mean over several runs has fractions.
struct breakdown_entry {
  double ns = 0;  ///< part of the run; operations at the same time share that time evenly
  double count = 0;
  double bytes = 0;
  bool operator==(breakdown_entry const&) const = default;

  breakdown_entry& operator+=(breakdown_entry const& more) noexcept {
    ns += more.ns;
    count += more.count;
    bytes += more.bytes;
    return *this;
  }
};

using breakdown_key = std::pair<entry_kind, std::string>;

/// Parts of a run that do not overlap and leave nothing out: their `ns` sum up to `extent`.
using time_breakdown = std::map<breakdown_key, breakdown_entry>;

/// A run in parts, without its rows.
struct run_breakdown {
  double ns = 0;  ///< the length of the run
  /// What devices did, and what the host did while they waited for it. The parts sum up to `ns`.
  time_breakdown parts;
  std::array<double, idle_causes> idle_ns{};  ///< between operations, all devices idle, by cause
  /// How much longer the run took than one beside it without a tracer; NaN: not measured.
  double tracing_ns = std::numeric_limits<double>::quiet_NaN();
};

/// One part of a run that differs. Numbers are per run.
struct change {
  entry_kind what = entry_kind::kernel;
  std::string name;
  breakdown_entry control, variant;  ///< medians over the runs of a side
  std::vector<double> pairs;         ///< ns of the variant less the control's, by pair of runs
  std::vector<double> tracing;       ///< the time that tracing added to `pairs`; empty: none
  stats::interval delta;             ///< see `sum_of`; the ends are infinite for too few pairs

  double delta_ns() const noexcept { return delta.estimate; }
  /// True if the interval of the change excludes zero.
  bool distinguishable() const noexcept { return delta.excludes(0); }
};

/// The pairs of runs from which on changes have intervals: the interval of a single change then
/// misses its value at most once in 128 times.
inline constexpr std::size_t fewest_pairs = 8;

/// The changes between two sides.
struct trace_difference {
  double difference_ns = 0;       ///< to be accounted for: variant less control
  bool has_shares = true;         ///< false where that difference may be zero
  double control_ns = 0;          ///< traced, one run: the median
  double variant_ns = 0;          ///< traced, one run: the median
  stats::interval traced;         ///< the variant's length less the control's, by pairs of runs
  bool tracing_measured = false;  ///< each run had one beside it without a tracer
  /// The time that the tracer added to the traced difference. It delays the host, mostly in calls.
  stats::interval tracing;
  std::size_t pairs = 1;        ///< pairs of runs
  int critical_value = -1;      ///< of the signed-rank intervals; -1: no intervals
  double confidence = 0;        ///< of all intervals of parts together; 0: no intervals
  std::vector<change> changes;  ///< by falling size; they sum up to the traced difference

  double traced_ns() const noexcept { return traced.estimate; }
  double tracing_ns() const noexcept { return tracing.estimate; }
  /// True if changes are told without what tracing added: that is not zero.
  bool tracing_taken() const noexcept { return tracing_measured && tracing.excludes(0); }
};

/// Totals over launches of a kernel that ran alone. NaN stands for a total that was not counted.
struct kernel_totals {
  double launches = 0;
  double ns = 0;
  double active_ns = 0;     ///< mean time for which an SM had work
  double warp_ns = 0;       ///< `active_ns` times the occupancy
  double cycles = 0;        ///< SM clock cycles in `active_ns`
  double instructions = 0;  ///< warp instructions, mean per SM
  double dram_busy_ns = 0;  ///< time that DRAM needs for the bytes at its peak rate
  double dram_bytes = 0;
  double l2_bytes = 0;  ///< bytes requested from the L2 cache

  kernel_totals& add(kernel_totals const& more, double times = 1) noexcept {
    for (auto const member :
         {&kernel_totals::launches, &kernel_totals::ns, &kernel_totals::active_ns,
          &kernel_totals::warp_ns, &kernel_totals::cycles, &kernel_totals::instructions,
          &kernel_totals::dram_busy_ns, &kernel_totals::dram_bytes, &kernel_totals::l2_bytes}) {
      this->*member += times * more.*member;
    }
    return *this;
  }
  bool operator==(kernel_totals const&) const = default;
};

/// Totals by the kernel's name in the trace.
using totals_by_kernel = std::map<std::string, kernel_totals, std::less<>>;

/// A cause for a longer or shorter time of a kernel.
enum class kernel_cause : std::uint8_t {
  launches,      ///< the number of launches in a batch
  contention,    ///< the time in the batch over the time alone: other operations ran beside it
  sms_active,    ///< too few blocks, or a tail: less is longer
  l2_bytes,      ///< bytes requested from the L2 cache
  l2_misses,     ///< DRAM bytes for each of those bytes
  dram_bytes,    ///< DRAM bytes; used if the L2 bytes were not counted
  instructions,  ///< warp instructions; used if issue slots are busier than DRAM
  sm_clock,      ///< the SM clock; used with `instructions`
  occupancy      ///< the part of the pace's change that goes the same way as the occupancy's
};

constexpr std::string_view to_string(kernel_cause which) noexcept {
  constexpr auto names = std::to_array<std::string_view>(
      {"launches", "time beside others, of that alone", "SMs active", "L2 traffic", "L2 misses",
       "DRAM traffic", "instructions", "SM clock", "occupancy"});
  return names[static_cast<std::size_t>(which)];
}

/// One cause, as time.
struct kernel_cause_part {
  kernel_cause what = kernel_cause::launches;
  double ns = 0;
  double control = 0;  ///< the quantity: a count, bytes, cycles a second or a share of 1
  double variant = 0;
};

/// The change of a kernel's time, split by counters: `delta_ns` is the sum of the causes and
/// `unexplained_ns`. The breakdown of the devices holds the same time under that name, so the two
/// must not be added.
struct kernel_change {
  std::string name;       ///< empty: all kernels that only one side has, together
  double control_ns = 0;  ///< of the run
  double variant_ns = 0;
  bool by_memory = false;                      ///< DRAM is busiest, else issue slots
  std::vector<kernel_cause_part> causes = {};  ///< by falling time
  double unexplained_ns = 0;                   ///< the change of the pace of resident warps
  double delta_ns() const noexcept { return variant_ns - control_ns; }
};

/// The limit that the work runs into; `unclear` where no rule fits the numbers.
enum class bound { unclear, memory, compute, latency, launch, tail, transfer };

constexpr std::string_view to_string(bound which) noexcept {
  constexpr auto names = std::to_array<std::string_view>(
      {"unclear", "memory", "compute", "latency", "launch", "tail", "transfer"});
  return names[static_cast<std::size_t>(which)];
}

/// A number that a rule reads. All but `time_per_launch_cost` are shares of 1.
enum class quantity {
  time_per_launch_cost,  ///< the time of a kernel over the cost of its launch
  host_bound,            ///< the part of the time in which the device waited for the host
  copies_exposed,        ///< the part of the time in which copies ran and no kernel did
  required_bytes,        ///< the rate of the bytes that must move, over the measured limit
  dram,
  tensor,
  fma,
  flops,
  pipe,  ///< the highest of tensor, fma and flops
  issue,
  sm_active
};

constexpr std::string_view to_string(quantity which) noexcept {
  constexpr auto names = std::to_array<std::string_view>(
      {"time in launch costs", "waiting for the host", "copies without a kernel",
       "rate of what must move", "DRAM throughput", "tensor pipe", "FMA pipe", "FLOP rate",
       "busiest pipe", "issue slots", "SMs active"});
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

/// The measured limits of the device, per second; NaN where there is no measurement.
struct ceilings {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double dram_bytes = unknown;
  double flops = unknown;
  /// The seconds that a launch costs the host; the default was measured for an empty kernel on an
  /// H200.
  double launch_seconds = 3e-6;
};

/// A number that fulfilled a condition of the rule that decided.
struct evidence {
  condition asked;
  double value = 0;
};

/// The limit that work runs into, and the numbers that the rules read; NaN where something was not
/// counted.
struct work_bound {
  double seconds = ceilings::unknown;    ///< the time over which rates are taken
  double occupancy = ceilings::unknown;  ///< achieved, of the warps that an SM can hold
  double ipc = ceilings::unknown;        ///< instructions a cycle per SM, at most 4
  double issue = ceilings::unknown;      ///< share of issue slots used
  double sm_active = ceilings::unknown;
  double tensor = ceilings::unknown;
  double fma = ceilings::unknown;
  double dram_bytes = ceilings::unknown;
  double dram_bytes_per_second = ceilings::unknown;
  double dram_share = ceilings::unknown;  ///< of the measured ceiling, else of the counters' peak
  bound limit = bound::unclear;
  std::string reason;
  std::vector<evidence> because;
};

}  // namespace assay::trace
