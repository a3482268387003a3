// SPDX-License-Identifier: Apache-2.0
#include "null_cast.hpp"

#include <assay/workload/null_cast.hpp>

#include <optional>
#include <utility>

namespace assay::examples {

std::optional<measure::comparison> null_cast_on_host(null_cast_parameters const& asked,
                                                     cli::options const& chosen) {
  auto const given = asked.on_host(chosen.quick);
  return given.with_type([&]<class T>(T) {
    auto const passes = given.work<workloads::null_cast<T>>();
    pipeline const control{passes, on::host{given.item_threads}, given.concurrent()};
    return given.cross(
        chosen, "CAST(COALESCE(x, 0) AS DOUBLE) on the CPU: three passes or one, submitted how?",
        control, std::pair{"three-passes", passes},
        std::pair{"fused", given.work<workloads::null_cast_fused<T>>()});
  });
}

}  // namespace assay::examples
