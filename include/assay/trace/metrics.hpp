// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sets of hardware metrics, and `counter_values`.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/requirements.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace assay::trace {

/// The metrics that the library itself reads by name.
namespace metric {

inline constexpr std::string_view gpu_time = "gpu__time_duration.sum";  // ns
inline constexpr std::string_view sm_clock = "sm__cycles_elapsed.avg.per_second";
inline constexpr std::string_view dram_share = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view dram_read = "dram__bytes_read.sum";
inline constexpr std::string_view dram_write = "dram__bytes_write.sum";
inline constexpr std::string_view dram_bytes = "dram__bytes.sum";
inline constexpr std::string_view sm_active = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view occupancy = "sm__warps_active.avg.pct_of_peak_sustained_active";
inline constexpr std::string_view ipc = "sm__inst_executed.avg.per_cycle_active";  // of an SM
inline constexpr std::string_view tensor_pipe =
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active";
inline constexpr std::string_view fma_pipe =
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active";
inline constexpr std::string_view issue = "smsp__issue_active.avg.pct_of_peak_sustained_active";
inline constexpr std::string_view l1_hit = "l1tex__t_sector_hit_rate.pct";
inline constexpr std::string_view l1_bytes = "l1tex__t_bytes.sum";
inline constexpr std::string_view l2_hit = "lts__t_sector_hit_rate.pct";
inline constexpr std::string_view l2_bytes = "lts__t_bytes.sum";

/// The metric of a reason for which warps wait: the mean number of a scheduler's warps that wait
/// for this reason, for each instruction that the scheduler issues.
inline std::string stall(std::string_view reason) {
  return concat({"smsp__average_warps_issue_stalled_", reason, "_per_issue_active.ratio"});
}
inline constexpr auto stalls = std::to_array<std::string_view>(
    {"long_scoreboard", "barrier", "math_pipe_throttle", "short_scoreboard", "mio_throttle",
     "lg_throttle", "wait", "gmma"});

}  // namespace metric

/// Metrics that are read together, by CUPTI's names.
using metric_set = std::vector<std::string>;

/// The sets to choose from.
namespace metric_sets {

/// Time, memory, occupancy, IPC, tensor use and the SM clock, in one pass on GH100, GA100, AD102
/// and GB100: nothing has to run twice.
inline metric_set core() {
  using namespace metric;
  return {std::string{gpu_time},  std::string{sm_clock},   std::string{dram_share},
          std::string{dram_read}, std::string{dram_write}, std::string{sm_active},
          std::string{occupancy}, std::string{ipc},        std::string{tensor_pipe},
          std::string{l1_hit},    std::string{l1_bytes},   std::string{l2_bytes}};
}

/// The core set, and metrics that tell latency from throughput: L2 hits, issue slots, the FMA pipe,
/// eight reasons for which warps wait. CUPTI needs four or five passes.
inline metric_set deep() {
  using namespace metric;
  auto all = core();
  for (auto const each : {dram_bytes, l2_hit, issue, fma_pipe}) { all.emplace_back(each); }
  for (auto const each : stalls) { all.push_back(stall(each)); }
  return all;
}

}  // namespace metric_sets

/// The state of the counters; if they cannot be read, with the obstacle and a remedy.
struct counter_status {
  enum class state {
    available,
    no_device,
    missing_library,
    no_permission,
    busy,         ///< another program, or another part of this one, holds the counters
    unsupported,  ///< not on this device or in this mode of it
    failed        ///< something else went wrong
  };
  state is = state::available;
  int code = 0;        ///< CUPTI's, 0 where it was not asked
  std::string reason;  ///< one line; empty when available
  std::string remedy;  ///< one line; empty where none is known

  explicit operator bool() const noexcept { return is == state::available; }
  /// Gives reason and remedy in one line.
  std::string line() const {
    return remedy.empty() || reason.empty() ? reason : concat({reason, ": ", remedy});
  }
  bool operator==(counter_status const&) const = default;
};

constexpr std::string_view to_string(counter_status::state which) noexcept {
  constexpr auto names =
      std::to_array<std::string_view>({"available", "no device", "missing library", "no permission",
                                       "busy", "unsupported", "failed"});
  return names[static_cast<std::size_t>(which)];
}

/// A metric that was asked for and not read, and why.
struct dropped_metric {
  std::string asked;
  std::string why;
  bool operator==(dropped_metric const&) const = default;
};

/// The value of one metric over one range.
struct counter_value {
  std::string metric;
  double value = std::numeric_limits<double>::quiet_NaN();
};

/// The values of one range: of all that ran, or of one kernel.
struct counter_range {
  std::string name;
  std::vector<counter_value> values;

  /// The value of a metric; NaN if it was not read.
  double operator[](std::string_view metric) const noexcept {
    for (auto const& each : values) {
      if (each.metric == metric) { return each.value; }
    }
    return std::numeric_limits<double>::quiet_NaN();
  }
  /// Mean SM clock while the range ran; NaN if unknown. Counter values of runs at other clocks are
  /// not comparable in time.
  double sm_hertz() const noexcept { return (*this)[metric::sm_clock]; }
};

/// The result of one `measure`.
struct counter_values {
  counter_status status;
  std::string chip;  ///< as CUPTI calls it: GH100
  int device = -1;
  std::size_t passes = 0;  ///< the number of times that the work, or each of its kernels, ran
  std::vector<counter_range> ranges;
  std::vector<dropped_metric> dropped;
  /// A lower bound of the number of kernels that had no room: CUPTI does not count all kernels that
  /// it passes over, but the number is not 0 if one is missing.
  std::size_t ranges_lost = 0;
};

}  // namespace assay::trace
