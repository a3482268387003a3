// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "support/littles_law.cuh"

#include <set>

using namespace assay;

TEST_CASE("chains pass through every node once", "[machine]") {
  for (auto const& next :
       {benchmark::detail::chain_in_order(1000), benchmark::detail::chain_at_random(1000)}) {
    std::set<std::uint32_t> seen;
    std::uint32_t at = 0;
    for (int i = 0; i < 1000; ++i) { seen.insert(at = next[at]); }
    CHECK(seen.size() == 1000);
    CHECK(at == 0);
  }
}

TEST_CASE("a device's latency and read rate are plausible", "[machine]") {
  if (test::racecheck()) { return; }  // which follows gigabytes through shared memory
  auto const found = benchmark::little_terms_of(on::device{0});
  CHECK(benchmark::little_terms_of(on::device{0}) == found);
  CHECK(found.read_bytes_per_second > 1e9);
  CHECK(found.read_bytes_per_second < 1e14);
  CHECK(found.sm_bytes_per_second > 1e8);
  if (test::small()) { return; }  // a sanitizer takes the time
  CHECK(found.sm_bytes_per_second < found.read_bytes_per_second);
  auto const sms = attribute(on::device{0}, cudaDevAttrMultiProcessorCount);
  CHECK(sms * found.sm_bytes_per_second > 0.9 * found.read_bytes_per_second);
  CHECK(found.latency_seconds > 100e-9);
  CHECK(found.latency_seconds < 5e-6);
  CHECK(found.random_latency_seconds > 0.9 * found.latency_seconds);
  CHECK(found.random_latency_seconds < 20e-6);
}
