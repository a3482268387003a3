// SPDX-License-Identifier: Apache-2.0
// Pools in static objects outlive the CUDA runtime: they are made before main, and end after what
// the runtime ends by itself. The program's exit code is the test.
#include "catch.hpp"

#include <assay/core/stream.hpp>
#include <assay/core/units.hpp>
#include <assay/memory/async.hpp>
#include <assay/pool/pool_definitions.hpp>

#include <optional>

using namespace assay;
using namespace assay::literals;

namespace {

/// Gives blocks back, and drops all, when the process is nearly gone.
struct late {
  late() = default;
  late(late const&) = delete;
  ~late() {
    if (!pool) { return; }
    pool->deallocate(*lane, live, 4_KiB);
    plain->deallocate(*lane, large, 64_MiB);
    driver->deallocate(*lane, driver_block, 4_KiB);
  }

  std::optional<stream> lane;
  std::optional<mr::pool_resource> pool, plain;
  std::optional<mr::async_resource> driver;
  std::optional<mr::pool_resource::capture_hold> hold;
  void* live = nullptr;
  void* large = nullptr;
  void* driver_block = nullptr;
};

late last;

}  // namespace

TEST_CASE("a pool in a static object is dropped after the driver has gone") {
  on::device const place{0};
  last.lane.emplace(place);
  last.pool.emplace(mr::pool{64_MiB}.open(place));
  last.plain.emplace(mr::pool{.mapped = false}.open(place));
  last.driver.emplace(mr::async{}.open(place));
  last.live = last.pool->allocate(*last.lane, 4_KiB);
  last.large = last.plain->allocate(*last.lane, 64_MiB);
  last.driver_block = last.driver->allocate(*last.lane, 4_KiB);
  last.hold.emplace(last.pool->capture(*last.lane));
  last.hold->end();
  CHECK(last.live != nullptr);
}
