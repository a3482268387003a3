// SPDX-License-Identifier: Apache-2.0
/// @file
/// The time that a device gets to clear freed memory.
#include <assay/machine/memory_scrub.hpp>

#include "catch.hpp"

using namespace assay;

TEST_CASE("the wait for freed memory is 2.5 ms per GiB, and at most one second") {
  CHECK(machine::clearing_seconds(0) == 0);
  CHECK(machine::clearing_seconds(std::size_t{40} << 30U) == Approx(0.1));
  CHECK(machine::clearing_seconds(std::size_t{4000} << 30U) == 1.0);
}

TEST_CASE("without a mark the scrub does not wait, and uses no device") {
  machine::memory_scrub of_no_device{on::device{99}};
  CHECK_NOTHROW(of_no_device.wait());
  CHECK_THROWS(of_no_device.mark());
}
