// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "overlap/link_ceilings.hpp"

using namespace assay;

TEST_CASE("a link's ceilings are plausible and in the expected order", "[machine]") {
  examples::link_options chosen;
  chosen.bytes = std::size_t{32} << 20U;
  chosen.repetitions = 3;
  chosen.max_threads = 4;
  std::vector<std::string> steps;
  chosen.progress = [&](std::string_view what) { steps.emplace_back(what); };
  auto const found = examples::link_ceilings_of(on::device{0}, chosen);
  CHECK(steps.size() == 5);
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

TEST_CASE("a link probe times copies one way and both ways", "[machine]") {
  constexpr std::size_t large = std::size_t{64} << 20U;
  using examples::probe_memory;
  probe_memory const device{probe_memory::kind::device, 2 * large};
  probe_memory const host{probe_memory::kind::page_locked, 2 * large};
  examples::link_probe probe{on::device{0}};
  examples::link_probe::copy const in{device.get(), host.get(), large};
  examples::link_probe::copy const out{host.get() + large, device.get() + large, large};
  examples::link_probe::copy const small_out{host.get() + large, device.get() + large, large / 16};
  (void)probe.one_way(in);
  auto const one = probe.one_way(in);
  auto const part = probe.one_way({device.get(), host.get(), large / 8});
  auto const both = probe.both_ways(in, out);
  auto const uneven = probe.both_ways(in, small_out);
  CHECK(one > 0);
  if (!test::small()) {
    CHECK(part < one / 4);
    CHECK(both.seconds() < 2.2 * one);
    CHECK(both.seconds() >= 0.9 * one);
    CHECK(uneven.to_host_seconds < uneven.to_device_seconds);
    CHECK(uneven.seconds() < 1.5 * one);
  }
  CHECK(probe.both_ways(in, {host.get(), device.get(), 0}).seconds() > 0);
  // The copies are real: what went in comes out.
  check(cudaMemset(device.get() + large, 0x11, large));
  check(cudaDeviceSynchronize());
  (void)probe.both_ways(in, out);
  CHECK(host.get()[2 * large - 1] == std::byte{0x11});
  CHECK(host.get()[large] == std::byte{0x11});
}
