// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, it replaces a function of the C library
/// @file
/// The number of hardware threads is asked for once: the answer costs a call of the system.

#include "catch.hpp"

#include <assay/host/parallel_for.hpp>

#include <sched.h>

#include <cstddef>

namespace {

int asked = 0;

}  // namespace

/// What tells of `taskset` too.
extern "C" int sched_getaffinity(pid_t, std::size_t, cpu_set_t* mask) noexcept {
  ++asked;
  CPU_ZERO(mask);
  for (int const core : {1, 5, 6}) { CPU_SET(core, mask); }
  return 0;
}

TEST_CASE("the number of hardware threads is asked for once", "[host]") {
  for (int i = 0; i < 10; ++i) { CHECK(assay::host::all_threads() == 3); }
  CHECK(asked == 1);
}
