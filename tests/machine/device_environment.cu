// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/machine/device_environment.hpp>

using namespace assay;
using assay::test::contains;

TEST_CASE("a device is described by name, and NVML finds the same one") {
  machine::environment where;
  machine::describe_device(on::device{0}, where);
  CHECK_THAT(where.device, contains("SMs") && contains("compute capability"));
  CHECK(where.toolkit == cuda_version_text(CUDART_VERSION));
  auto device = machine::watch(on::device{0});
  device.sample();
  device.describe(where);
  INFO(device.note());
  // NVML, where it is available, must have found the device by its bus id.
  if (device.note().empty()) {
    CHECK(where.sm_clock_mhz > 0);
    CHECK(where.temperature_celsius > 0);
    CHECK(where.driver.find("for CUDA") == std::string::npos);
  } else {
    WARN(device.note());
  }
}
