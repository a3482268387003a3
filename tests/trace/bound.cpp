// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/trace/bound.hpp>

#include <cmath>
#include <map>

using namespace assay;

namespace {

/// Values by metric.
struct values {
  values(std::initializer_list<std::pair<std::string_view, double>> all) {
    for (auto const& [name, value] : all) { of.emplace(name, value); }
  }
  std::map<std::string, double, std::less<>> of;
};

trace::counter_range range_of(values const& all) {
  trace::counter_range range;
  for (auto const& [name, value] : all.of) { range.values.push_back({std::string{name}, value}); }
  return range;
}

/// A copy of 2 GiB as an H200 runs it: DRAM at 88 % of its peak, nothing else busy.
values copy_kernel() {
  using namespace trace::metric;
  return {{gpu_time, 1e6},     {sm_clock, 1.98e9}, {dram_share, 88},  {dram_read, 2e9},
          {dram_write, 2.1e9}, {sm_active, 99},    {occupancy, 85},   {ipc, 0.6},
          {tensor_pipe, 0},    {l1_hit, 0},        {l1_bytes, 4.2e9}, {l2_bytes, 4.4e9}};
}

values with(values base, values const& changed) {
  for (auto const& [name, value] : changed.of) { base.of[name] = value; }
  return base;
}

trace::bound bound_of(values const& all, trace::workload_facts const& facts = {},
                      trace::ceilings const& limits = {}) {
  return trace::find_bound(range_of(all), facts, limits).limit;
}

}  // namespace

TEST_CASE("rates and shares come from the counters") {
  auto const of = trace::find_bound(range_of(copy_kernel()), {}, {.dram_bytes = 4.1e12 / 0.9});
  CHECK(of.seconds == Approx(1e-3));
  CHECK(of.occupancy == Approx(0.85));
  CHECK(of.ipc == Approx(0.6));
  CHECK(of.issue == Approx(0.15));  // four schedulers share the IPC
  CHECK(of.dram_bytes == Approx(4.1e9));
  CHECK(of.dram_bytes_per_second == Approx(4.1e12));
  CHECK(of.dram_share == Approx(0.9));
}

TEST_CASE("times taken without counters go before those of the counters") {
  auto const of = trace::find_bound(range_of(copy_kernel()), {.seconds = 2e-3});
  CHECK(of.seconds == 2e-3);
  CHECK(of.dram_bytes_per_second == Approx(4.1e9 / 2e-3));
}

TEST_CASE("without limits and facts nothing is made up") {
  auto const of = trace::find_bound(trace::counter_range{});
  for (auto const each : {of.seconds, of.occupancy, of.dram_bytes, of.dram_share, of.issue}) {
    CHECK(std::isnan(each));
  }
  CHECK(of.limit == trace::bound::unclear);
  CHECK(of.because.empty());
  CHECK(!of.reason.empty());
}

TEST_CASE("chips that count DRAM's bytes only together have them too") {
  auto all = copy_kernel();
  all.of.erase(std::string{trace::metric::dram_read});
  all.of[std::string{trace::metric::dram_bytes}] = 5e9;
  CHECK(trace::find_bound(range_of(all)).dram_bytes == 5e9);
}

TEST_CASE("each bound is told from the numbers that show it") {
  using trace::bound;
  using namespace trace::metric;
  auto const quiet = with(copy_kernel(), {{dram_share, 30}});
  CHECK(bound_of(copy_kernel()) == bound::memory);
  CHECK(bound_of(with(quiet, {{tensor_pipe, 85}})) == bound::compute);
  CHECK(bound_of(with(quiet, {{fma_pipe, 93}})) == bound::compute);
  CHECK(bound_of(with(quiet, {{ipc, 3.7}})) == bound::compute);
  CHECK(bound_of(with(quiet, {{sm_active, 2}})) == bound::tail);
  CHECK(bound_of(quiet) == bound::latency);
  CHECK(bound_of(with(quiet, {{dram_share, 70}})) == bound::unclear);
  CHECK(bound_of(with(quiet, {{ipc, 2.8}})) == bound::unclear);
  CHECK(bound_of(with(quiet, {{gpu_time, 5e3}})) == bound::launch);
}

TEST_CASE("a kernel is launch bound by its own time, not by that of many") {
  using trace::bound;
  auto const idle =
      with(copy_kernel(), {{trace::metric::gpu_time, 50e3}, {trace::metric::dram_share, 30}});
  CHECK(bound_of(idle) == bound::latency);  // 50 us
  CHECK(bound_of(idle, {.launches = 10}) == bound::launch);
  CHECK(bound_of(idle, {.seconds = 4e-6}) == bound::launch);
  CHECK(bound_of(idle, {.launches = 10}, {.launch_seconds = 1e-6}) == bound::latency);
}

TEST_CASE("what is used up bounds the work, however many launches it comes in") {
  using trace::bound;
  trace::workload_facts const many{.launches = 10'000};  // of 0.1 us each
  CHECK(bound_of(copy_kernel(), many) == bound::memory);
  auto const idle = with(copy_kernel(), {{trace::metric::dram_share, 30}});
  CHECK(bound_of(idle, many) == bound::launch);
  CHECK(bound_of(with(idle, {{trace::metric::fma_pipe, 90}}), many) == bound::compute);
}

TEST_CASE("a trace that shows how long the device waited for the host goes before a guess") {
  using trace::bound;
  auto const idle = with(copy_kernel(), {{trace::metric::dram_share, 30}});
  CHECK(bound_of(idle, {.launches = 10'000, .host_bound = 0.1}) == bound::latency);
  auto const of = trace::find_bound(range_of(idle), {.host_bound = 0.2});
  CHECK(of.limit == bound::launch);
  REQUIRE(of.because.size() == 1);
  CHECK(of.because[0].value == 0.2);
}

TEST_CASE(
    "where nobody knows how long the device waited for the host, what is used up tells alone") {
  using trace::bound;
  trace::workload_facts const unknown{.launches = 10'000, .host_waits_known = false};
  CHECK(bound_of(copy_kernel(), unknown) == bound::memory);
  auto const idle = with(copy_kernel(), {{trace::metric::dram_share, 30}});
  for (auto const& each : {idle, with(idle, {{trace::metric::sm_active, 1}})}) {
    auto const of = trace::find_bound(range_of(each), unknown);
    CHECK(of.limit == bound::unclear);
    CHECK(of.reason ==
          "nothing is clearly used up, and how long the device waits for the host is unknown");
    CHECK(of.because.empty());
  }
}

TEST_CASE(
    "work is transfer bound where copies take most of its time, unless something is used up") {
  using trace::bound;
  auto const idle =
      with(copy_kernel(), {{trace::metric::dram_share, 3}, {trace::metric::sm_active, 1}});
  CHECK(bound_of(idle) == bound::tail);
  auto const of = trace::find_bound(range_of(idle), {.host_bound = 0.3, .copies_exposed = 0.6});
  CHECK(of.limit == bound::transfer);
  REQUIRE(of.because.size() == 1);
  CHECK(of.because[0].value == 0.6);
  CHECK(to_string(of.limit) == "transfer");
  CHECK(to_string(of.because[0].asked.of) == "copies without a kernel");
  CHECK(bound_of(idle, {.host_bound = 0.3, .copies_exposed = 0.4}) == bound::launch);
  CHECK(bound_of(copy_kernel(), {.copies_exposed = 0.6}) == bound::memory);
}

TEST_CASE("bytes that must move count where a cache serves them, at the limit that was measured") {
  auto const cached = with(copy_kernel(), {{trace::metric::dram_share, 30}});
  trace::workload_facts const facts{.required = {.bytes_read = 2e9, .bytes_written = 2e9}};
  CHECK(bound_of(cached, facts, {.dram_bytes = 5e12}) == trace::bound::memory);
  auto half = facts;
  half.required.bytes_read = 0;
  CHECK(bound_of(with(cached, {{trace::metric::dram_read, 1e6}, {trace::metric::dram_write, 1e6}}),
                 half, {.dram_bytes = 5e12}) == trace::bound::latency);
}

TEST_CASE("a measured limit goes before a peak on paper") {
  auto const slow = with(copy_kernel(), {{trace::metric::dram_share, 70}});
  CHECK(bound_of(slow) == trace::bound::unclear);
  CHECK(bound_of(slow, {}, {.dram_bytes = 4.5e12}) == trace::bound::memory);
  auto const quiet = with(copy_kernel(), {{trace::metric::dram_share, 30}});
  CHECK(bound_of(quiet, {.required = {.flops = 55e9}}, {.flops = 60e12}) == trace::bound::compute);
}

TEST_CASE("work that declares no FLOPs does not say that it computes slowly") {
  auto all = with(copy_kernel(), {{trace::metric::dram_share, 30}});
  all.of.erase(std::string{trace::metric::tensor_pipe});
  CHECK(bound_of(all, {}, {.flops = 60e12}) == trace::bound::unclear);
  CHECK(bound_of(all, {.required = {.flops = 6e9}}, {.flops = 60e12}) == trace::bound::latency);
}

TEST_CASE("thresholds belong to the side that the rule is about") {
  using namespace trace::metric;
  CHECK(bound_of(with(copy_kernel(), {{dram_share, 100 * trace::saturated}})) ==
        trace::bound::memory);
  CHECK(bound_of(with(copy_kernel(), {{dram_share, 100 * trace::saturated - 0.01}})) !=
        trace::bound::memory);
  auto const edge = with(copy_kernel(), {{dram_share, 100 * trace::unsaturated}});
  CHECK(bound_of(edge) == trace::bound::latency);
}

TEST_CASE("the evidence is what the rule asked, with the numbers that were there") {
  auto const of = trace::find_bound(range_of(copy_kernel()));
  REQUIRE(of.because.size() == 1);
  CHECK(of.because[0].asked.of == trace::quantity::dram);
  CHECK(of.because[0].asked.threshold == trace::saturated);
  CHECK(of.because[0].value == Approx(0.88));
  for (auto const& rule : trace::bound_rules) {
    CHECK(rule.when[0].has_value());
    CHECK(!rule.reason.empty());
    CHECK(rule.is != trace::bound::unclear);
  }
}
