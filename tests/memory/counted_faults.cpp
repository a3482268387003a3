// SPDX-License-Identifier: Apache-2.0
// assay-precompiled: no
// assay-grouped: no, since it replaces operator new
#include "catch.hpp"
#include "failing_new.hpp"

#include <assay/memory/counted.hpp>
#include <assay/memory/heap.hpp>

#include <thread>

using namespace assay;

TEST_CASE("counted: a thread that has no host memory left can free the block of another") {
  auto resource = mr::counted{mr::heap{}}.open(on::host{});
  constexpr host_stream here{};
  void* const block = resource.allocate(here, 1000);
  std::thread{[&] {
    test::allocations_until_failure = 0;
    resource.deallocate(here, block, 1000);
    test::allocations_until_failure = -1;
  }}.join();
  CHECK(resource.stats().deallocations == 1);
  CHECK(resource.stats().live_bytes == 0);
}
