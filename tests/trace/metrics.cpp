// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/trace/metrics.hpp>

#include <cmath>
#include <set>

using namespace assay;
using assay::test::contains;
using assay::test::message_of;

TEST_CASE("sets hold each metric once, all by CUPTI's names") {
  for (auto const& set :
       {trace::metric_sets::core(), trace::metric_sets::deep(), trace::metric_sets::links()}) {
    INFO(set.name);
    std::set<std::string> const once{set.metrics.begin(), set.metrics.end()};
    CHECK(once.size() == set.metrics.size());
    for (auto const& each : set.metrics) {
      INFO(each);
      CHECK(trace::resolve_metric(each).name == each);
      CHECK(trace::is_device_wide(each) == (set.name == "links"));
    }
  }
}

TEST_CASE("the deep set contains the core set, and a sum of sets has no metric twice") {
  auto const core = trace::metric_sets::core();
  auto const deep = trace::metric_sets::deep();
  for (auto const& each : core.metrics) {
    CHECK(std::ranges::find(deep.metrics, each) != deep.metrics.end());
  }
  auto const sum = deep + core;
  CHECK(sum.metrics == deep.metrics);
  CHECK(sum.name == "deep+core");
  auto const more = core + trace::metric_set{"mine", {"ipc", core.metrics.front()}};
  CHECK(more.metrics.size() == core.metrics.size() + 1);
  CHECK(more.metrics.back() == "ipc");
}

TEST_CASE("nvprof's names become CUPTI's, with the change of unit") {
  auto const occupancy = trace::resolve_metric("achieved_occupancy");
  CHECK(occupancy.asked == "achieved_occupancy");
  CHECK(occupancy.name == "sm__warps_active.avg.pct_of_peak_sustained_active");
  CHECK(occupancy.factor == 0.01);
  CHECK_THAT(occupancy.unit, contains("0..1"));
  CHECK(trace::resolve_metric("ipc").name == "sm__inst_executed.avg.per_cycle_active");
  CHECK(trace::resolve_metric("ipc").factor == 1);
  CHECK(trace::resolve_metric("issued_ipc").factor == 4);
  CHECK(trace::resolve_metric("dram_utilization").factor == 0.1);
  CHECK(trace::resolve_metric("sm_efficiency").factor == 1);
  std::set<std::string_view> names;
  for (auto const& each : trace::legacy_metrics) {
    INFO(each.legacy);
    CHECK(names.insert(each.legacy).second);
    CHECK(trace::resolve_metric(each.legacy).name == each.name);
    CHECK((each.factor == 1) == each.unit.empty());  // a changed unit is told
  }
}

TEST_CASE("a name that nobody knows is refused with those that are near") {
  auto const text = message_of([] { trace::resolve_metric("acheived_ocupancy"); });
  CHECK_THAT(text, contains("'acheived_ocupancy'") && contains("did you mean achieved_occupancy"));
  auto const far = message_of([] { trace::resolve_metric("zzzzzzzz"); });
  CHECK_THAT(far, contains("zzzzzzzz"));
  CHECK(far.find("did you mean") == std::string::npos);
  CHECK_THROWS_AS(trace::resolve_metric(""), std::invalid_argument);
}

TEST_CASE("near names are those with the fewest edits, in that order") {
  std::vector<std::string_view> const known{"abcdef", "abcdeg", "abxyef", "zzzzzz", "abcde"};
  CHECK(trace::nearest_names("abcdef", known, 2) == std::vector<std::string>{"abcdef", "abcde"});
  CHECK(trace::nearest_names("abcdef", known, 9) ==
        std::vector<std::string>{"abcdef", "abcde", "abcdeg", "abxyef"});
  CHECK(trace::nearest_names("abdcef", known, 1) == std::vector<std::string>{"abcdef"});
  CHECK(trace::nearest_names("", known).empty());
}

TEST_CASE("a value is found by CUPTI's name in CUPTI's unit, by whatever name it was asked") {
  trace::counter_range range;
  range.values.push_back({trace::resolve_metric("achieved_occupancy"), 0.5});
  range.values.push_back({trace::resolve_metric(trace::metric::sm_clock), 1.98e9});
  CHECK(range[trace::metric::occupancy] == Approx(50));
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
