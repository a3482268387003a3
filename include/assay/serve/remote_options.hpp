// SPDX-License-Identifier: Apache-2.0
/// @file
/// `remote_options`: the time limits of a program that calls `assay::serve`.
#pragma once

#include <assay/core/requirements.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::measure {

/// Time limits of a program. A program that exceeds a limit is killed, and the error names it.
struct remote_options {
  std::chrono::duration<double> timeout{60};  ///< for each reply, the first one included
  std::chrono::duration<double> shutdown{5};  ///< to end by itself, and again to end after SIGTERM
  std::string_view required_call = "assay::serve";  ///< the function that the program has to call
  /// Called behind each reply with its request and the seconds for which the caller waited.
  std::function<void(std::vector<std::string> const& request, double seconds)> answered{};
};

}  // namespace assay::measure
