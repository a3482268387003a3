// SPDX-License-Identifier: Apache-2.0
/// @file
/// What is said of devices and drivers that cannot be used.
#include <assay/core/device.hpp>
#include <assay/core/error.hpp>

#include "catch.hpp"

using namespace assay;

TEST_CASE("a driver older than the toolkit is told with both versions and the remedy") {
  CHECK(driver_too_old(12040, 13000) ==
        "the driver supports CUDA 12.4 but this program was built with CUDA 13.0: update the "
        "driver, or build with an older toolkit");
}

TEST_CASE("a device that is not there is named beside what is") {
  int const beyond = device_count();
  CHECK(assay::test::message_of([&] { require_device({beyond}); }) ==
        "device " + std::to_string(beyond) + " does not exist: this process sees " +
            std::to_string(beyond) +
            (beyond == 0 ? " GPUs; a GPU and its driver are needed"
                         : " GPUs, numbered from 0 (CUDA_VISIBLE_DEVICES limits them)"));
  CHECK_THROWS_AS(require_device({-1}), std::invalid_argument);
}

TEST_CASE("an error of CUDA names the place of the call that failed") {
  int line = 0;
  auto const message = assay::test::message_of([&] {
    line = __LINE__ + 1;
    check(cudaErrorInvalidValue);
  });
  auto const place = "device_cuda.cpp:" + std::to_string(line) + ": cudaErrorInvalidValue: ";
  CHECK_THAT(message, assay::test::contains(place));
}

TEST_CASE("a UUID is written as nvidia-smi does") {
  cudaUUID_t of{};
  for (int i = 0; i < 16; ++i) { of.bytes[i] = static_cast<char>(0xF0 - 15 * i); }
  CHECK(uuid_text(of) == "GPU-f0e1d2c3-b4a5-9687-7869-5a4b3c2d1e0f");
}
