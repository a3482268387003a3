// SPDX-License-Identifier: Apache-2.0
/// @file
/// `runs_on_host`: the choice between the two halves of an experiment. Needs the CUDA toolkit,
/// CLI11 and nlohmann_json.
#pragma once

#include <assay/cli/options.hpp>
#include <assay/cli/traces.hpp>
#include <assay/core/device.hpp>

#include <iostream>
#include <ostream>

namespace assay::cli {

/// True if the host half runs: with `--host`, or on a machine without a GPU if the command line has
/// no `--device`. A line on `err` tells the second case. Throws `std::invalid_argument` for options
/// of traces that this build, or the host half, cannot serve.
inline bool runs_on_host(options const& given, traces const& traced,
                         std::ostream& err = std::cerr) {
  traced.check();
  bool const host = given.host || (!given.device_named && device_count() == 0);
  if (!host) { return false; }
  traced.check_host();
  if (!given.host) { err << "no GPU: the host half is run\n"; }
  return true;
}

}  // namespace assay::cli
