// SPDX-License-Identifier: Apache-2.0

// assay-uses: cupti

#include "catch.hpp"

#include <assay/cupti/counter_host.hpp>

#include <cstdio>
#include <cstdlib>
#include <set>

using namespace assay;
using assay::test::contains;
using assay::test::message_of;

namespace {

/// CUPTI with its host library; where they are missing the whole program counts as skipped.
trace::cupti_api const& cupti() {
  auto const& found = trace::cupti_api::load();
  std::string lacking = found.why_missing();
  if (lacking.empty()) {
    try {
      trace::counter_host const host{found, "GH100"};
    } catch (trace::cupti_error const& error) {
      if (error.code() != CUPTI_ERROR_NOT_INITIALIZED) { throw; }
      lacking = error.what();
    }
  }
  if (lacking.empty()) { return found; }
  std::printf("skipped: %s\n", lacking.c_str());
  std::exit(77);  // ctest's SKIP_RETURN_CODE
}

struct expectation {
  char const* chip;
  std::size_t deep_passes;
  std::vector<std::string> deep_lacks;
};

std::vector<expectation> const chips{{"GH100", 5, {}},
                                     {"GA100", 4, {trace::metric::stall("gmma")}},
                                     {"AD102", 5, {trace::metric::stall("gmma")}},
                                     {"GB100", 4, {trace::metric::stall("gmma")}}};

std::vector<std::string> asked(std::vector<trace::dropped_metric> const& dropped) {
  std::vector<std::string> names;
  for (auto const& each : dropped) { names.push_back(each.asked); }
  return names;
}

}  // namespace

TEST_CASE("the core set is whole and takes one pass on GH100, GA100, AD102 and GB100") {
  for (auto const& each : chips) {
    INFO(each.chip);
    auto const plan = trace::counter_host{cupti(), each.chip}.plan(trace::metric_sets::core());
    CHECK(plan.dropped.empty());
    CHECK(plan.metrics == trace::metric_sets::core());
    CHECK(plan.passes == 1);
    CHECK(!plan.config.empty());
  }
}

TEST_CASE("the deep set takes four or five passes, and only the stall of GH100's own is dropped") {
  for (auto const& each : chips) {
    INFO(each.chip);
    auto const plan = trace::counter_host{cupti(), each.chip}.plan(trace::metric_sets::deep());
    CHECK(asked(plan.dropped) == each.deep_lacks);
    CHECK(plan.metrics.size() + plan.dropped.size() == trace::metric_sets::deep().size());
    CHECK(plan.passes == each.deep_passes);
  }
}

TEST_CASE("pass counts are those that other measurements of the same sets gave") {
  // GH100: sm__throughput alone takes eight passes, L2 hits two.
  trace::counter_host const host{cupti(), "GH100"};
  CHECK(host.plan({"sm__throughput.avg.pct_of_peak_sustained_elapsed"}).passes == 8);
  CHECK(host.plan({std::string{trace::metric::l2_hit}}).passes == 2);
}

TEST_CASE("metrics that the chip lacks are dropped and named; the others are counted") {
  trace::counter_host const host{cupti(), "GH100"};
  std::string const good{trace::metric::gpu_time};
  auto const plan =
      host.plan({"sm__bogus.sum", good, "sm__cycles_active", good, "dram__bytes_read.total"});
  CHECK(plan.metrics == std::vector<std::string>{good});
  CHECK(plan.passes == 1);
  REQUIRE(asked(plan.dropped) ==
          std::vector<std::string>{"sm__bogus.sum", "sm__cycles_active", "dram__bytes_read.total"});
  CHECK(plan.dropped[0].why == "GH100 has no metric sm__bogus.sum");
}

TEST_CASE("a plan of nothing, or of nothing that the chip has, costs nothing") {
  trace::counter_host const host{cupti(), "GH100"};
  CHECK(host.plan({}).passes == 0);
  auto const none = host.plan({"sm__bogus.sum"});
  CHECK(none.passes == 0);
  CHECK(none.config.empty());
  CHECK(none.dropped.size() == 1);
}

TEST_CASE("an unknown chip is refused, and the status says what to do") {
  try {
    trace::counter_host const host{cupti(), "XX999"};
    FAIL("a chip called XX999 was accepted");
  } catch (trace::cupti_error const& error) {
    CHECK(error.code() == CUPTI_ERROR_INVALID_CHIP_NAME);
    auto const status = trace::status_of(error.code(), error.what());
    CHECK(status.is == trace::counter_status::state::unsupported);
    CHECK_THAT(status.line(), contains("INVALID_CHIP_NAME") && contains("newer toolkit"));
  }
}

TEST_CASE("a host can be moved, and made again") {
  for (int i = 0; i < 3; ++i) {
    trace::counter_host first{cupti(), "GH100"};
    auto const second = std::move(first);
    CHECK(second.plan({std::string{trace::metric::gpu_time}}).passes == 1);
  }
}
