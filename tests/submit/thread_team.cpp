// SPDX-License-Identifier: Apache-2.0
// assay-precompiled: no
// assay-test-timeout: 60
// assay-grouped: no, since it replaces operator new
#include "catch.hpp"
#include "failing_new.hpp"

#include <assay/submit/thread_team.hpp>

#include <atomic>

using namespace assay;
using test::allocations_until_failure;

TEST_CASE("a team whose constructor runs out of host memory throws, and does not hang") {
  int failures = 0;
  for (long after = 0;; ++after) {
    std::atomic<int> bound = 0;
    allocations_until_failure = after;
    try {
      submit::thread_team team{4, [&](int) { ++bound; }};
      allocations_until_failure = -1;
      CHECK(bound == 4);
      break;
    } catch (std::bad_alloc const&) {
      allocations_until_failure = -1;
      ++failures;
      CHECK(bound == 0);
    }
  }
  CHECK(failures >= 5);  // the state, the list, and a thread each
}
