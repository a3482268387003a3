// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "support/link_ceilings.hpp"

using namespace assay;

TEST_CASE("a link's ceilings are plausible and in the expected order", "[machine]") {
  benchmark::link_options chosen;
  chosen.bytes = std::size_t{32} << 20U;
  chosen.repetitions = 3;
  chosen.max_threads = 4;
  auto const found = benchmark::link_ceilings_of(on::device{0}, chosen);
  for (double const rate : {found.to_device, found.to_host, found.to_device_duplex,
                            found.to_host_duplex, found.pageable_to_device, found.pageable_to_host,
                            found.host_copies.front().bytes_per_second}) {
    CHECK(rate > 1e8);
    CHECK(rate < 2e12);
  }
  for (double const seconds : {found.register_seconds_per_gib, found.unregister_seconds_per_gib,
                               found.allocate_seconds_per_gib, found.free_seconds_per_gib}) {
    CHECK(seconds > 0);
    CHECK(seconds < 60);
  }
  REQUIRE(found.host_copies.size() == 3);
  CHECK(found.host_copies[2].threads == 4);
  CHECK(found.bytes == chosen.bytes);
  if (!test::small()) {
    // Opposing traffic takes from each way; together they are more than the faster way alone, or
    // nothing would be won by doing both at once. A tenth is left for noise.
    CHECK(found.to_device_duplex < 1.1 * found.to_device);
    CHECK(found.to_host_duplex < 1.1 * found.to_host);
    CHECK(found.duplex() > 0.9 * std::max(found.to_device, found.to_host));
    CHECK(found.pageable_to_device < 1.1 * found.to_device);
  }
  if (found.problems.empty()) {
    CHECK(found.link.generation >= 1);
    CHECK(found.link.generation <= found.link.max_generation);
    CHECK(found.link.width >= 1);
    CHECK(found.link.width <= found.link.max_width);
  } else {
    WARN("NVML: " << found.problems.front());
  }
}
