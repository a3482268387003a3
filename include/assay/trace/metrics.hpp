// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sets of hardware metrics, nvprof's names of the same metrics, and `counter_values`.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// Metrics that are read together, by CUPTI's or nvprof's names.
struct metric_set {
  std::string name;
  std::vector<std::string> metrics;

  /// Both sets' metrics, each once.
  friend metric_set operator+(metric_set first, metric_set const& second) {
    first.name += "+" + second.name;
    for (auto const& each : second.metrics) {
      if (std::ranges::find(first.metrics, each) == first.metrics.end()) {
        first.metrics.push_back(each);
      }
    }
    return first;
  }
  bool operator==(metric_set const&) const = default;
};

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
  return "smsp__average_warps_issue_stalled_" + std::string{reason} + "_per_issue_active.ratio";
}
inline constexpr std::array<std::string_view, 8> stalls{"long_scoreboard",
                                                        "barrier",
                                                        "math_pipe_throttle",
                                                        "short_scoreboard",
                                                        "mio_throttle",
                                                        "lg_throttle",
                                                        "wait",
                                                        "gmma"};

}  // namespace metric

/// The sets to choose from.
namespace metric_sets {

/// Time, memory, occupancy, IPC, tensor use and the SM clock, in one pass on GH100, GA100, AD102
/// and GB100: nothing has to run twice.
inline metric_set core() {
  using namespace metric;
  return {"core",
          {std::string{gpu_time}, std::string{sm_clock}, std::string{dram_share},
           std::string{dram_read}, std::string{dram_write}, std::string{sm_active},
           std::string{occupancy}, std::string{ipc}, std::string{tensor_pipe}, std::string{l1_hit},
           std::string{l1_bytes}, std::string{l2_bytes}}};
}

/// The core set, and metrics that tell latency from throughput: L2 hits, issue slots, the FMA pipe,
/// eight reasons for which warps wait. CUPTI needs four or five passes.
inline metric_set deep() {
  using namespace metric;
  auto all = core();
  all.name = "deep";
  for (auto const each : {dram_bytes, l2_hit, issue, fma_pipe}) { all.metrics.emplace_back(each); }
  for (auto const each : stalls) { all.metrics.push_back(stall(each)); }
  return all;
}

/// Bytes over PCIe and NVLink; counted for the whole device, whoever moves them.
inline metric_set links() {
  return {
      "links",
      {"pcie__read_bytes.sum", "pcie__write_bytes.sum", "nvlrx__bytes.sum", "nvltx__bytes.sum"}};
}

}  // namespace metric_sets

/// A metric's name in nvprof and in CUPTI. CUPTI's value times `factor` is the value that nvprof
/// printed; `unit` is nvprof's unit if the two differ.
struct legacy_metric {
  std::string_view legacy;
  std::string_view name;
  double factor = 1;
  std::string_view unit = {};
};

/// nvprof's names of the metrics that CUPTI still has. An SM has four schedulers on every GPU that
/// CUDA 13 supports, so a value per scheduler times four is the value per SM.
inline constexpr auto legacy_metrics = std::to_array<legacy_metric>({
    {"sm_efficiency", "smsp__cycles_active.avg.pct_of_peak_sustained_elapsed"},
    {"achieved_occupancy", metric::occupancy, 0.01, "0..1, CUPTI's is in per cent"},
    {"ipc", metric::ipc},
    {"issued_ipc", "smsp__inst_issued.avg.per_cycle_active", 4, "per SM, CUPTI's is per scheduler"},
    {"issue_slot_utilization", metric::issue},
    {"eligible_warps_per_cycle", "smsp__warps_eligible.avg.per_cycle_active", 4,
     "per SM, CUPTI's is per scheduler"},
    {"gld_efficiency", "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"},
    {"gst_efficiency", "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"},
    {"shared_efficiency", "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct"},
    {"branch_efficiency", "smsp__sass_average_branch_targets_threads_uniform.pct"},
    {"warp_execution_efficiency", "smsp__thread_inst_executed_per_inst_executed.pct"},
    {"tex_cache_hit_rate", metric::l1_hit},
    {"l2_tex_hit_rate", metric::l2_hit},
    {"l2_hit_rate", metric::l2_hit},
    {"dram_read_throughput", "dram__bytes_read.sum.per_second"},
    {"dram_write_throughput", "dram__bytes_write.sum.per_second"},
    {"dram_read_bytes", metric::dram_read},
    {"dram_write_bytes", metric::dram_write},
    {"dram_utilization", metric::dram_share, 0.1, "a level 0..10, CUPTI's is in per cent"},
    {"dram_throughput", metric::dram_share},
    {"l2_throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"l1tex_throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"inst_executed", "smsp__inst_executed.sum"},
    {"stall_memory_dependency", "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct"},
    {"stall_sync", "smsp__warp_issue_stalled_barrier_per_warp_active.pct"},
    {"stall_not_selected", "smsp__warp_issue_stalled_not_selected_per_warp_active.pct"},
    {"tensor_precision_fu_utilization", metric::tensor_pipe, 0.1,
     "a level 0..10, CUPTI's is in per cent"},
});

/// One metric as asked for, as CUPTI calls it, and how its value becomes what was asked for.
struct metric_request {
  std::string asked;
  std::string name;
  double factor = 1;
  std::string unit;
  bool operator==(metric_request const&) const = default;
};

/// Up to `count` of the names that are fewest edits away from `wanted`, nearest first; none that
/// shares less than half of it.
inline std::vector<std::string> nearest_names(std::string_view wanted,
                                              std::span<std::string_view const> known,
                                              std::size_t count = 3) {
  auto const edits = [&](std::string_view other) {
    std::vector<std::size_t> row(other.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) { row[j] = j; }
    for (std::size_t i = 1; i <= wanted.size(); ++i) {
      auto diagonal = std::exchange(row[0], i);
      for (std::size_t j = 1; j < row.size(); ++j) {
        auto const changed = diagonal + (wanted[i - 1] == other[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
      }
    }
    return row.back();
  };
  std::vector<std::pair<std::size_t, std::string_view>> found;
  auto const limit = wanted.size() / 2;
  for (auto const each : known) {
    auto const longer = std::max(each.size(), wanted.size());
    if (longer - std::min(each.size(), wanted.size()) > limit) { continue; }
    if (auto const distance = edits(each); distance <= limit) {
      found.emplace_back(distance, each);
    }
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (auto const& [distance, name] : found) {
    if (names.size() < count) { names.emplace_back(name); }
  }
  return names;
}

/// ", did you mean ...?" for names that are near an unknown one; empty for none.
inline std::string did_you_mean(std::vector<std::string> const& names) {
  std::string text;
  for (auto const& each : names) { text += (text.empty() ? ": did you mean " : " or ") + each; }
  return text.empty() ? text : text + "?";
}

/// The metric of a name. CUPTI's names have two underscores after their unit (`sm__`) and are taken
/// as they are. Other names must be nvprof's: throws `std::invalid_argument` with similar names.
inline metric_request resolve_metric(std::string_view asked) {
  if (asked.find("__") != std::string_view::npos) {
    return {std::string{asked}, std::string{asked}, 1, {}};
  }
  std::vector<std::string_view> known;
  for (auto const& each : legacy_metrics) {
    if (each.legacy == asked) {
      return {std::string{asked}, std::string{each.name}, each.factor, std::string{each.unit}};
    }
    known.push_back(each.legacy);
  }
  throw std::invalid_argument("no metric is called '" + std::string{asked} +
                              "', neither by CUPTI (as sm__cycles_active.avg) nor by nvprof" +
                              did_you_mean(nearest_names(asked, known)));
}

/// True for a metric of the whole device rather than of a context. CUPTI cannot read metrics of
/// both kinds together.
constexpr bool is_device_wide(std::string_view metric) noexcept {
  return metric.starts_with("pcie__") || metric.starts_with("nvl") || metric.starts_with("PCI.") ||
         metric.starts_with("NVL");
}

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
    return remedy.empty() || reason.empty() ? reason : reason + ": " + remedy;
  }
  bool operator==(counter_status const&) const = default;
};

constexpr std::string_view to_string(counter_status::state which) noexcept {
  constexpr std::array<std::string_view, 7> names{"available",     "no device", "missing library",
                                                  "no permission", "busy",      "unsupported",
                                                  "failed"};
  return names[static_cast<std::size_t>(which)];
}

/// A metric that was asked for and not read, and why.
struct dropped_metric {
  std::string asked;
  std::string why;
  bool operator==(dropped_metric const&) const = default;
};

/// The value of one metric over one range, in the unit of the name that was asked for.
struct counter_value {
  metric_request metric;
  double value = std::numeric_limits<double>::quiet_NaN();
};

/// The values over one range; by default the whole of what ran.
struct counter_range {
  std::string name;
  std::vector<counter_value> values;

  /// The value of a metric in CUPTI's unit, whichever name it was asked by; NaN if it was not read.
  double operator[](std::string_view cupti_name) const noexcept {
    for (auto const& each : values) {
      if (each.metric.name == cupti_name) { return each.value / each.metric.factor; }
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
  /// The number of ranges that had no room. For kernels this is a lower bound: CUPTI does not count
  /// all kernels that it passes over, but the number is not 0 if one is missing.
  std::size_t ranges_lost = 0;
};

}  // namespace assay::trace
