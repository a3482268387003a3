// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "support/counters_json.hpp"

#include <assay/report/explanation.hpp>

using namespace assay;
using assay::test::contains;

namespace {

trace::counter_values sample() {
  trace::counter_values all;
  all.chip = "GH100";
  all.device = 0;
  all.passes = 1;
  auto const range = [](char const* name, double scale) {
    trace::counter_range one{name, {}};
    auto const add = [&](std::string_view metric, double value) {
      one.values.push_back({std::string{metric}, value * scale});
    };
    add(trace::metric::gpu_time, 1.5e6);
    add(trace::metric::occupancy, 50);
    add(trace::metric::dram_share, 88.25);
    add(trace::metric::dram_read, 1024.0 * 1024 * 1024);
    add(trace::metric::sm_clock, 1.98e9);
    add("smsp__inst_executed.sum", 123456);
    return one;
  };
  all.ranges = {range("copy", 1), range("half", 0.5)};
  all.dropped.push_back({"sm__bogus.sum", "GH100 has no metric sm__bogus"});
  return all;
}

/// A copy as the counters see it.
trace::work_bound copied() {
  trace::counter_range range{"copy", {}};
  auto const add = [&](std::string_view metric, double value) {
    range.values.push_back({std::string{metric}, value});
  };
  add(trace::metric::gpu_time, 1e6);
  add(trace::metric::dram_read, 2e9);
  add(trace::metric::dram_write, 2.1e9);
  add(trace::metric::dram_share, 88.25);
  add(trace::metric::ipc, 0.5);
  return trace::find_bound(range, {.required = {.bytes_read = 2e9, .bytes_written = 2e9}});
}

}  // namespace

TEST_CASE("a bound is a sentence with its numbers") {
  CHECK(report::bound_sentence(copied()) ==
        "memory bound: DRAM is busy nearly all the time (DRAM throughput 88.2 %, at least 80.0 %)");
  CHECK(report::bound_sentence(trace::find_bound({})) ==
        "no clear bound: no rule fits: nothing is clearly used up and nothing clearly free");
  auto small = trace::find_bound({}, {.seconds = 4.5e-6});
  CHECK_THAT(report::bound_sentence(small),
             contains("launch bound") && contains("(time in launch costs 1.5, at most 2.0)"));
}

TEST_CASE("JSON has every number, null for those that nobody counted") {
  auto all = report::to_json(sample());
  CHECK(all["status"] == "available");
  CHECK(all["ranges"][1]["values"]["smsp__inst_executed.sum"] == 61728);
  CHECK(all["dropped"][0]["metric"] == "sm__bogus.sum");
  CHECK(all["passes"] == 1);
  CHECK(report::document::parse(all.dump()) == all);

  auto const of = report::to_json(copied());
  CHECK(of["bound"] == "memory");
  CHECK(of["reason"] == "DRAM is busy nearly all the time");
  CHECK(of["because"][0]["quantity"] == "DRAM throughput");
  CHECK(of["because"][0]["threshold"] == 0.8);
  CHECK(of["dram_bytes"] == 4.1e9);
  CHECK(of["fma"].is_null());
}
