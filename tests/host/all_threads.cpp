// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, it replaces a function of the C library
/// @file
/// The number of hardware threads is asked for once: the answer costs a file of the system.

#include "catch.hpp"

#include <assay/host/parallel_for.hpp>

namespace {

int asked = 0;

}  // namespace

/// What `std::thread::hardware_concurrency` asks on Linux.
extern "C" int get_nprocs() noexcept {
  ++asked;
  return 3;
}

TEST_CASE("the number of hardware threads is asked for once", "[host]") {
  for (int i = 0; i < 10; ++i) { CHECK(assay::host::all_threads() == 3); }
  CHECK(asked == 1);
}
