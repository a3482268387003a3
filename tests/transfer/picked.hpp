// SPDX-License-Identifier: Apache-2.0
/// @file
/// The overlapped transfer that picks its plan, also where measuring the link would take minutes.
#pragma once

#include "catch.hpp"

#include <assay/transfer/overlapped.hpp>

namespace assay::test {

/// Picks by this machine's link; under a sanitizer by costs of an H200's, as measured.
inline transfer::overlapped picked() {
  transfer::overlapped how;
  if (small()) {
    transfer::link_costs costs;
    costs.to_device_bytes_per_second = 55.3e9;
    costs.to_host_bytes_per_second = 55.3e9;
    costs.to_device_duplex_bytes_per_second = 51e9;
    costs.to_host_duplex_bytes_per_second = 50e9;
    costs.copy_overhead_seconds = 4e-6;
    costs.kernel_overhead_seconds = 1e-6;
    how.costs = costs;
  }
  return how;
}

}  // namespace assay::test
