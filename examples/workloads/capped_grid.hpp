// SPDX-License-Identifier: Apache-2.0
/// @file
/// The caps that callers set for workloads with a copy strategy: SMs and threads.
#pragma once

#include <assay/core/policy.hpp>

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

/// Adds the caps to a description; `max_sms` only where it is one.
inline void show_caps(parameter_list& to, int max_sms, int threads) {
  to.show("max_sms", max_sms, 0).show("threads", threads);
}

}  // namespace assay::workloads
