// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "dispatch/traced_calls.hpp"

#include <functional>

using namespace assay;

namespace {

int counted = 0;

/// Tracing that sees one kernel of 3 us in a call of 10 us.
cli::tracing pretended(bool readable) {
  cli::tracing made;
  made.record = [](std::function<void()> const& work) {
    work();
    trace::model seen;
    trace::kernel_run kernel;
    kernel.when = {4'000, 7'000};
    seen.kernels.push_back(kernel);
    trace::api_call call;
    call.when = {0, 10'000};
    seen.calls.push_back(call);
    return seen;
  };
  auto const count = [](trace::metric_set const& metrics, std::function<void()> const& work) {
    work();
    ++counted;
    trace::counter_values seen;
    seen.ranges.push_back({});
    for (auto const& each : metrics) { seen.ranges[0].values.push_back({each, 2}); }
    return seen;
  };
  made.count = count;
  if (!readable) {
    made.count = [](trace::metric_set const&, std::function<void()> const&) {
      ++counted;
      trace::counter_values none;
      none.status.is = trace::counter_status::state::no_permission;
      return none;
    };
  }
  return made;
}

}  // namespace

TEST_CASE("a traced call has its stages and the counters of its kernels") {
  int calls = 0;
  auto const found = examples::traced_calls(pretended(true))([&] { ++calls; });
  CHECK(calls == 2);
  REQUIRE(found.size() == 13);
  CHECK(found[0].first == "submit_seconds");
  CHECK(found[0].second == Approx(4e-6));
  CHECK(found[2].first == "work_seconds");
  CHECK(found[2].second == Approx(3e-6));
  CHECK(found[9].first == "occupancy_percent");
  CHECK(found[10].first == "dram_bytes");
  CHECK(found[10].second == 4);
}

TEST_CASE("counters that cannot be read are asked for once, and left out") {
  counted = 0;
  auto const trace = examples::traced_calls(pretended(false));
  for (int i = 0; i < 3; ++i) {
    CHECK(trace([] {}).size() == 9);
  }
  CHECK(counted == 1);
  CHECK_FALSE(examples::traced_calls({}));
  auto without = pretended(true);
  without.count = nullptr;
  CHECK(examples::traced_calls(without)([] {}).size() == 9);
}
