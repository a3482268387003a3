// SPDX-License-Identifier: Apache-2.0
/// @file
/// A new workload is one pair of files; its arrays live on a device, or in host memory.

#include "catch.hpp"
#include "workload/running_maximum.cuh"

#include <assay/measure/instruments.cuh>
#include <assay/rig.hpp>

#include <string>

using namespace assay;
using test::contains;

TEST_CASE("a workload of one pair of files runs on a device, and a corrupted element is caught",
          "[workload][gpu]") {
  constexpr on::device place{0};
  for (int const columns : {1, 31, 32, 33, 1000}) {
    running_maximum const work{.rows = 77, .columns = columns};
    rig real{pipeline{work, place, submit::sequential{.items = 2}}};
    real.run();
    CHECK(real.verify().value_or("right") == "right");

    auto where = real.lanes().front();
    auto state = workloads::prepare(work, where, 1);
    CHECK_THAT(workloads::verify(work, state).value_or("right"),
               contains("lane 0: element 0 of array 1 was never written"));
    workloads::enqueue(work, where, state);
    where.synchronize();
    REQUIRE(workloads::verify(work, state).value_or("right") == "right");
    auto const last = static_cast<std::size_t>(77 * columns - 1);
    check(cudaMemset(state.arrays(0).second.data() + last, 0, sizeof(float)));
    check(cudaDeviceSynchronize());  // the stream of the lane does not wait for the default stream
    CHECK_THAT(workloads::verify(work, state).value_or("right"),
               contains("lane 0: element " + std::to_string(last) + " of array 1 is 0"));
  }
}
