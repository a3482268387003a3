// SPDX-License-Identifier: Apache-2.0
/// @file
/// How long a device is given to clear what was freed.
#include <assay/measure/freed_memory.hpp>

#include "catch.hpp"

using namespace assay;

TEST_CASE("freed memory is given 2.5 ms a GiB, and never more than a second") {
  CHECK(measure::clearing_seconds(0) == 0);
  CHECK(measure::clearing_seconds(std::size_t{40} << 30U) == Approx(0.1));
  CHECK(measure::clearing_seconds(std::size_t{4000} << 30U) == 1.0);
}

TEST_CASE("without a mark there is nothing to wait for, and no device is asked") {
  measure::freed_memory of_no_device{on::device{99}};
  CHECK_NOTHROW(of_no_device.wait());
  CHECK_THROWS(of_no_device.mark());
}
