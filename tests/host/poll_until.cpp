// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/host/poll_until.hpp>

#include <chrono>
#include <limits>

using namespace assay;
using namespace std::chrono_literals;

TEST_CASE("a wait ends with its answer or with its limit", "[host]") {
  int asked = 0;
  CHECK(poll_until([&] { return ++asked == 3; }, 1h));
  CHECK(asked == 3);
  CHECK_FALSE(poll_until([] { return false; }, 1ms));
  CHECK(poll_until([] { return true; }, -1s));
  constexpr std::chrono::duration<double> no_limit{std::numeric_limits<double>::infinity()};
  CHECK(poll_until([&] { return ++asked == 9; }, no_limit));
}

TEST_CASE("a pause adds less than 0.1 % to a wait, with the slack of timers", "[host]") {
  constexpr std::chrono::duration<double> slack = 60us;
  bool pauses = false;
  for (std::chrono::duration<double> waited = 0s; waited < 10s; waited += 100us) {
    auto const pause = pause_after(waited);
    pauses = pause > 0s;
    if (pauses && !(pause + slack < 0.001 * waited)) { FAIL(waited.count()); }
  }
  CHECK(pauses);  // a wait of seconds leaves the processor to others
}
