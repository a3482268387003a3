// SPDX-License-Identifier: Apache-2.0
/// @file
/// What reading hardware counters gave, or in one line why it gave nothing: plain data.
#pragma once

#include <assay/trace/metrics.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace assay::trace {

/// Whether counters can be read, and if not, what stands in the way and what would help.
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
  /// Reason and remedy in one line.
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

/// What one `measure` gave.
struct counter_values {
  counter_status status;
  std::string chip;  ///< as CUPTI calls it: GH100
  int device = -1;
  std::size_t passes = 0;  ///< how often the work ran, or each of its kernels
  std::vector<counter_range> ranges;
  std::vector<dropped_metric> dropped;
  /// There was no room for them. Of kernels at least so many: CUPTI does not count all that it
  /// passes over, but where one is missing this is not 0.
  std::size_t ranges_lost = 0;
};

}  // namespace assay::trace
