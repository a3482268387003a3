// SPDX-License-Identifier: Apache-2.0
/// @file
/// The machine and the program of a measurement, in words and numbers.
#pragma once

#include <assay/core/requirements.hpp>

#include <limits>
#include <string>
#include <vector>

namespace assay::machine {

/// The machine and the program of a comparison; empty strings and NaN where unknown.
struct environment {
  std::string device, driver, toolkit, host_cpu, compiler, commit, command_line, started_at;
  int host_threads = 0;
  double sm_clock_mhz = std::numeric_limits<double>::quiet_NaN();
  double memory_clock_mhz = std::numeric_limits<double>::quiet_NaN();
  double power_watts = std::numeric_limits<double>::quiet_NaN();
  double temperature_celsius = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> throttle_reasons;  ///< seen at the end of any epoch
};

}  // namespace assay::machine
