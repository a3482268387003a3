// SPDX-License-Identifier: Apache-2.0
#include "ranks/watch_together.hpp"
#include "catch.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

using namespace assay;
using assay::examples::watch_together;

TEST_CASE("watch_together waits for all places and reports the reasons of each") {
  int waited = 0;
  auto const place = [&](std::string device, std::vector<std::string> reasons) {
    return measure::environment_watch{
        [&] { ++waited; }, [reasons] { return reasons; },
        [device](measure::comparison& into) { into.where.device = device; }};
  };
  auto const both = watch_together(
      {{"device 0", place("first", {})}, {"device 3", place("second", {"too hot", "too slow"})}});
  both.settle();
  CHECK(waited == 2);
  CHECK(both.vetoes() == std::vector<std::string>{"device 3: too hot", "device 3: too slow"});
  measure::comparison found;
  both.describe(found);
  CHECK(found.where.device == "first");
  CHECK(both.throttle_bits() == 0);
  auto hot = place("hot", {});
  hot.throttle_bits = [] { return std::uint64_t{0x48}; };
  auto const cold = place("cold", {});
  CHECK(watch_together({{"device 0", hot}, {"device 3", cold}}).throttle_bits() == 0x48);
  CHECK(watch_together({{"device 0", cold}, {"device 3", hot}}).throttle_bits() == 0x48);
  CHECK_THROWS_AS(watch_together({}), std::invalid_argument);
}
