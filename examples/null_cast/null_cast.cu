// SPDX-License-Identifier: Apache-2.0
#include "null_cast.hpp"

#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/pool/pool.hpp>
#include <assay/workload/null_cast.cuh>

namespace assay::examples {

cli::variants null_cast_on_device(null_cast_parameters const& given, on::device place) {
  return given.with_type([&]<class T>(T) {
    mr::pool const pool{.initial_bytes = given.pool_bytes};
    pipeline const control{workloads::null_cast<T>{given.rows, given.null_fraction}, place, pool,
                           given.concurrent()};
    return cross(given, control, std::pair{std::string{"pool"}, pool},
                 std::pair{std::string{"async"}, mr::async{}});
  });
}

}  // namespace assay::examples
