// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/dispatch/links.hpp>

#include <vector>

using namespace assay;
using dispatch::copied_call;
using dispatch::fitted_link;

TEST_CASE("the three numbers of a link are found again", "[dispatch]") {
  std::vector<copied_call> calls;
  for (double bytes = 4; bytes < 1e9; bytes *= 5) {
    for (double const back : {0.0, 1.0, 2.0}) {
      double const copies = 1 + back;
      double const extra = 2e-5 * copies + 1e-10 * bytes + 6e-11 * back * bytes;
      calls.push_back({copies, bytes, back * bytes, 1e-5 + 1e-12 * bytes + extra, extra});
    }
  }
  auto const found = fitted_link(memory_type::pageable, calls);
  CHECK(found.memory == memory_type::pageable);
  CHECK(found.latency_seconds == Approx(2e-5).epsilon(1e-3));
  CHECK(found.seconds_per_byte_in == Approx(1e-10).epsilon(1e-3));
  CHECK(found.seconds_per_byte_back == Approx(6e-11).epsilon(1e-3));
}

TEST_CASE("no number of a link is below 0, and one that no call shows is 0", "[dispatch]") {
  auto const short_of_time =
      fitted_link(memory_type::pageable, {{1, 1e3, 0, 1e-5, -1e-6}, {1, 1e6, 0, 1e-4, 9e-5}});
  CHECK(short_of_time.latency_seconds == 0);
  CHECK(short_of_time.seconds_per_byte_in > 8e-11);
  CHECK(short_of_time.seconds_per_byte_back == 0);
  CHECK(fitted_link(memory_type::page_locked, {}) == dispatch::link{memory_type::page_locked});
}
