// SPDX-License-Identifier: Apache-2.0
// assay-test-timeout: 1200
/// @file
/// The same products compiled without any chip's own instructions: `mma.sync`, and the smaller tile
/// of floats.
#include "examples/workloads/matmul_battery.cuh"

#include <iostream>

using namespace assay;
using assay::test::check_strategy;

TEMPLATE_TEST_CASE("float products are right without sm_90a", "[workload][gpu]", copy::regular<>,
                   copy::cp_async<1>, copy::cp_async<3>, copy::bulk<2>) {
  check_strategy<float, TestType>();
}

TEMPLATE_TEST_CASE("bfloat16 products are right without sm_90a", "[workload][gpu]", copy::regular<>,
                   copy::cp_async<1>, copy::cp_async<3>, copy::bulk<2>) {
  check_strategy<bfloat16, TestType>();
}

TEST_CASE("a build for no chip in particular multiplies bfloat16 by mma.sync", "[workload][gpu]") {
  auto const& how = workloads::matmul_shape_on<bfloat16, copy::cp_async<1>>(test::place);
  std::cout << "bfloat16 by " << how.instruction << ", tiles of " << how.tile.row << " x "
            << how.tile.col << ", " << how.threads << " threads\n";
  CHECK(how.instruction == "mma.sync");
}
