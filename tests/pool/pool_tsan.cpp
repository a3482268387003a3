// assay-test-flags: -fsanitize=thread -g -O1
// assay-test-timeout: 900
// SPDX-License-Identifier: Apache-2.0
// The storm of pool_core.cpp under the thread sanitizer, which also watches the fake's shadow
// words: they are plain memory that only the pool's hand-over orders.
#include "catch.hpp"
#include "pool/pool_storm.hpp"

#include <assay/core/units.hpp>

using namespace assay;
using namespace assay::literals;

TEST_CASE("the pool's host logic has no data race") {
  auto const seed = test::fresh_seed();
  mr::pool const options[] = {
      {.growth_bytes = 4_MiB, .stream_cache_bytes = 8_MiB},
      {.max_bytes = 24_MiB, .growth_bytes = 4_MiB, .stream_cache_bytes = 1_MiB},
  };
  for (auto const& each : options) {
    INFO("seed " << seed << " options " << (&each - options));
    test::fake_device device{256_MiB};
    mr::pool_core<test::fake_backend> pool{test::fake_backend{&device}, each};
    test::storm(pool, device,
                {.threads = 6,
                 .operations = 300'000,
                 .release_first = false,
                 .graphs = true,
                 .trims = true},
                seed);
    INFO(device.first_violation());
    CHECK(device.violations == 0);
    CHECK(pool.stats().live_bytes == 0);
  }
}
