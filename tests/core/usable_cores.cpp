// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, it binds the main thread to one core
/// @file
/// Cores that `taskset` or a launcher takes away do not count, in costs of dispatch neither.

#include "catch.hpp"
#include "dispatch/saxpy.hpp"
#include "folder.hpp"

#include <assay/core/place.hpp>
#include <assay/dispatch/file.hpp>
#include <assay/machine/host_environment.hpp>

#include <sched.h>

#include <string>
#include <thread>

TEST_CASE("cores that this process may not use do not count", "[host]") {
  ::cpu_set_t all;
  REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
  int const before = CPU_COUNT(&all);
  REQUIRE(assay::usable_cores() == before);
  assay::test::folder const here;
  auto const file = (here / "saxpy.costs").string();
  auto measured = assay::test::saxpy_measurements();
  auto const machine = assay::machine::host_environment({}, {});
  CHECK(machine.host_threads == before);
  measured.cpu = machine.host_cpu;
  measured.cores = machine.host_threads;
  assay::dispatch::save(file, assay::dispatch::costs{measured});
  CHECK(assay::dispatch::load(file).paths().size() == measured.paths.size());

  ::cpu_set_t one;
  CPU_ZERO(&one);
  int first = 0;
  while (!CPU_ISSET(first, &all)) { ++first; }
  CPU_SET(first, &one);
  // Another thread that is bound to a core changes nothing for the process.
  std::thread{[&] {
    CHECK(::sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(assay::usable_cores() == before);
  }}.join();
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(assay::usable_cores() == 1);
  if (before == 1) { return; }
  CHECK(assay::test::message_of([&] { assay::dispatch::load(file); }) ==
        "cannot read " + file + ": its number of cores is '" + std::to_string(before) +
            "', and this machine's is '1': calibrate on this machine");
}
