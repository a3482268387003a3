// SPDX-License-Identifier: Apache-2.0
/// @file
/// How long a device is given to clear what was freed.
#include <assay/machine/memory_scrub.hpp>

#include "catch.hpp"

using namespace assay;

TEST_CASE("freed memory is given 2.5 ms a GiB, and never more than a second") {
  CHECK(machine::clearing_seconds(0) == 0);
  CHECK(machine::clearing_seconds(std::size_t{40} << 30U) == Approx(0.1));
  CHECK(machine::clearing_seconds(std::size_t{4000} << 30U) == 1.0);
}

TEST_CASE("without a mark there is nothing to wait for, and no device is asked") {
  machine::memory_scrub of_no_device{on::device{99}};
  CHECK_NOTHROW(of_no_device.wait());
  CHECK_THROWS(of_no_device.mark());
}
