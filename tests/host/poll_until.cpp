// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/host/call_within.hpp>
#include <assay/host/poll_until.hpp>

#include <chrono>
#include <future>
#include <limits>
#include <optional>
#include <stdexcept>

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

TEST_CASE("a call has a limit though it goes on", "[host]") {
  CHECK(call_within(1h, [] { return 7; }) == 7);
  CHECK(test::message_of([] {
          (void)call_within(1h, []() -> int { throw std::runtime_error("no device"); });
        }) == "no device");
  std::promise<void> go, gone;
  auto const late = call_within(1ms, [may = go.get_future().share(), &gone] {
    may.wait();
    gone.set_value();
    return 7;
  });
  CHECK(late == std::nullopt);
  go.set_value();
  gone.get_future().wait();
}
