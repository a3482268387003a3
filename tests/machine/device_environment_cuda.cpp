// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/machine/device_environment.hpp>

using namespace assay;

TEST_CASE("a CUDA version number becomes text") {
  CHECK(cuda_version_text(13000) == "13.0");
  CHECK(cuda_version_text(12080) == "12.8");
}

TEST_CASE("a missing device is refused, naming its number") {
  machine::environment where;
  CHECK_THROWS_WITH(machine::describe_device(on::device{999}, where),
                    assay::test::contains("device 999 does not exist"));
  CHECK(where.device.empty());
}
