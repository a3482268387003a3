// SPDX-License-Identifier: Apache-2.0
/// @file
/// The ceilings of a link as JSON.
#pragma once

#include "link_ceilings.hpp"

#include <assay/report/json_values.hpp>

namespace assay::report {

/// Rates in bytes per second; 0 for what NVML did not tell.
inline document to_json(benchmark::link_ceilings const& of) {
  auto copies = document::array();
  for (auto const& each : of.host_copies) {
    copies.push_back({{"threads", each.threads}, {"bytes_per_second", each.bytes_per_second}});
  }
  return {{"bytes", of.bytes},
          {"to_device", of.to_device},
          {"to_host", of.to_host},
          {"to_device_duplex", of.to_device_duplex},
          {"to_host_duplex", of.to_host_duplex},
          {"duplex", of.duplex()},
          {"pageable_to_device", of.pageable_to_device},
          {"pageable_to_host", of.pageable_to_host},
          {"host_copies", copies},
          {"register_seconds_per_gib", of.register_seconds_per_gib},
          {"unregister_seconds_per_gib", of.unregister_seconds_per_gib},
          {"allocate_seconds_per_gib", of.allocate_seconds_per_gib},
          {"free_seconds_per_gib", of.free_seconds_per_gib},
          {"link",
           {{"generation", of.link.generation},
            {"width", of.link.width},
            {"max_generation", of.link.max_generation},
            {"max_width", of.link.max_width}}},
          {"problems", of.problems}};
}

}  // namespace assay::report
