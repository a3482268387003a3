// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/kernel/shared_memory_limits.hpp>

#include <stdexcept>
#include <thread>

using assay::kernel::shared_memory_limits;

TEST_CASE("a limit of shared memory never falls, whichever thread asks", "[kernel]") {
  constexpr std::size_t kib = 1024;
  shared_memory_limits limits;
  int const kernels[2]{};
  std::size_t set = 0;  // as the driver keeps it for the process
  int calls = 0;
  auto const raise = [&](std::size_t bytes) {
    limits.raise(&kernels[0], 0, bytes, [&] {
      set = bytes;
      ++calls;
    });
  };
  raise(100 * kib);
  std::thread{[&] { raise(64 * kib); }}.join();
  CHECK(set == 100 * kib);
  raise(100 * kib);
  CHECK(calls == 1);
  std::thread{[&] { raise(200 * kib); }}.join();
  CHECK(set == 200 * kib);

  // Another kernel and another device have limits of their own.
  limits.raise(&kernels[1], 0, kib, [&] { ++calls; });
  limits.raise(&kernels[0], 1, kib, [&] { ++calls; });
  CHECK(calls == 4);

  // A limit that the driver refused was not set.
  CHECK_THROWS(limits.raise(&kernels[0], 0, 300 * kib, [] { throw std::runtime_error("no"); }));
  raise(250 * kib);
  CHECK(set == 250 * kib);
}
