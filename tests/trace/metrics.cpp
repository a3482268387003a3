// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/trace/metrics.hpp>

#include <algorithm>
#include <cmath>
#include <set>

using namespace assay;

TEST_CASE("sets hold each metric once, and the deep set contains the core set") {
  auto const core = trace::metric_sets::core();
  auto const deep = trace::metric_sets::deep();
  for (auto const& set : {core, deep}) {
    std::set<std::string> const once{set.begin(), set.end()};
    CHECK(once.size() == set.size());
  }
  for (auto const& each : core) { CHECK(std::ranges::find(deep, each) != deep.end()); }
}

TEST_CASE("a value is found by its metric") {
  trace::counter_range range;
  range.values.push_back({std::string{trace::metric::occupancy}, 50});
  range.values.push_back({std::string{trace::metric::sm_clock}, 1.98e9});
  CHECK(range[trace::metric::occupancy] == 50);
  CHECK(range.sm_hertz() == 1.98e9);
  CHECK(std::isnan(range[trace::metric::ipc]));
}

TEST_CASE("a status says in one line what is wrong and what helps") {
  trace::counter_status status;
  CHECK(status);
  CHECK(status.line().empty());
  status = {trace::counter_status::state::busy, 26, "the counters are in use", "stop the other"};
  CHECK(!status);
  CHECK(status.line() == "the counters are in use: stop the other");
  CHECK(to_string(status.is) == "busy");
  CHECK(to_string(trace::counter_status::state::failed) == "failed");
}
