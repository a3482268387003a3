// SPDX-License-Identifier: Apache-2.0
/// @file
/// What workloads that take a copy strategy let their caller cap: SMs and threads.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::workloads {

/// Throws `std::invalid_argument` unless a kernel can be launched under these caps.
inline void require_caps(std::string_view name, int max_sms, int threads) {
  auto const refuse = [&](std::string const& what) {
    throw std::invalid_argument(std::string{name} + ": " + what);
  };
  if (max_sms < 0) {
    refuse("max_sms = " + std::to_string(max_sms) + " is not possible: at least 1, or 0 for all");
  }
  if (threads != 128 && threads != 256 && threads != 512) {
    refuse("threads = " + std::to_string(threads) + " is not possible: 128, 256 and 512 are");
  }
}

/// The caps as a description has them: nothing where all SMs are used.
inline std::string describe_caps(int max_sms, int threads) {
  return (max_sms == 0 ? "" : ", max_sms=" + std::to_string(max_sms)) +
         ", threads=" + std::to_string(threads);
}

}  // namespace assay::workloads
