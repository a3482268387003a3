// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since another test starts its program
#include "catch.hpp"
#include "page/count_of.hpp"

#include "report/traced_sample.hpp"

#include <assay/core/atomic_file.hpp>
#include <assay/page/page.hpp>
#include <assay/page/timeline.hpp>
#include <assay/page/waterfall.hpp>
#include <assay/report/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

using namespace assay;
using assay::test::contains;
using assay::test::count_of;

namespace {

/// The end of the waterfall's bars, and the sum of its steps.
std::pair<double, double> end_and_sum(measure::comparison const& all) {
  auto const steps = report::detail::waterfall_steps(all, all.traced[0]);
  double sum = steps.front().change.ns;
  for (auto const& each : steps) { sum += each.whole ? 0 : each.change.ns; }
  return {steps.back().change.ns, sum};
}

}  // namespace

TEST_CASE("a waterfall goes from the control's time to the variant's, and its steps add up") {
  auto all = test::traced_comparison();
  auto const [end, sum] = end_and_sum(all);
  CHECK(end == Approx(60e3 + 220e3));
  CHECK(sum == Approx(end));
  all.traced[0].control_seconds = std::numeric_limits<double>::quiet_NaN();
  auto const [traced_end, traced_sum] = end_and_sum(all);
  CHECK(traced_end == Approx(all.traced[0].control.batch.ns + all.traced[0].traced.ns));
  CHECK(traced_sum == Approx(traced_end));
  for (auto const& each : report::detail::waterfall_steps(all, all.traced[0])) {
    CHECK(each.name.find("tracing") == std::string::npos);  // nothing to subtract from
  }
}

TEST_CASE("a waterfall has no step for tracing where the parts are without what tracing added") {
  auto all = test::traced_comparison();
  auto& of = all.traced[0];
  auto const taken = 40e3;
  of.traced.ns = 265e3;
  of.tracing = {taken, 30e3, 50e3};
  of.tracing_taken = true;
  auto const names_tracing = [&] {
    for (auto const& each : report::detail::waterfall_steps(all, of)) {
      if (each.name.find("tracing") != std::string::npos) { return true; }
    }
    return false;
  };
  auto const [end, sum] = end_and_sum(all);
  CHECK(end == Approx(60e3 + 220e3));
  CHECK(sum == Approx(end));
  CHECK(!names_tracing());
  CHECK_THAT(report::page({{all}}), contains("what medians and other batches leave"));
  of.control_seconds = std::numeric_limits<double>::quiet_NaN();
  auto const [traced_end, traced_sum] = end_and_sum(all);
  CHECK(traced_end == Approx(of.control.batch.ns + 265e3 - taken));
  CHECK(traced_sum == Approx(traced_end));
  auto const back = report::parse_json(report::json(all));
  CHECK(back.traced[0].tracing_taken);
}

TEST_CASE("a waterfall shows the parts that are distinguishable from zero, and names the rest") {
  auto all = test::traced_comparison();
  auto const page = report::page({{all}});
  CHECK_THAT(page, contains("waits: wait for the mutex</span>"));
  CHECK_THAT(page, contains("; each part is not distinguishable from zero</span>"));
  CHECK_THAT(page, contains("all hold together at 9"));
  CHECK(page.find("aria-label=\"waits: cudaFuncSetAttribute") ==
        std::string::npos);  // no strip of a part within noise
  for (auto& each : all.traced[0].parts) {
    each.delta.low_ns = -1e9;
    each.delta.high_ns = 1e9;
  }
  auto const unclear = report::page({{all}});
  CHECK(unclear.find("waits: wait for the mutex</span>") == std::string::npos);
  CHECK_THAT(unclear, contains("not distinguishable from zero</td>"));
}

TEST_CASE("a waterfall has the colours of verdicts, and a legend of those that it has") {
  auto all = test::traced_comparison();
  auto const in = [&](char const* part) { return count_of(part, report::page({{all}})); };
  auto const longer = in("class=\"step more\"");
  CHECK(longer > 2);  // one in the legend
  CHECK(in("takes longer</li>") == 1);
  CHECK(in("class=\"step rest\"") == 2);  // what medians leave is neither longer nor shorter
  CHECK(in("class=\"bar span host-call\"") > 0);
  auto& added = all.traced[0].tracing;
  added = {10, 5, 15};
  CHECK(in("by tracing</li>") == 1);
  CHECK(in("not distinguishable from zero</li>") == 0);
  added = {10, -5, 15};
  CHECK(in("by tracing</li>") == 0);
  CHECK(in("not distinguishable from zero</li>") == 1);
  for (auto& each : all.traced[0].parts) {
    auto& of = each.delta;
    of = {-of.ns, -of.high_ns, -of.low_ns};
  }
  CHECK(in("class=\"step less\"") >= longer - 1);
  CHECK(in("class=\"step more\"") < longer);
}

TEST_CASE("both timelines of a difference have one scale, and each span has its duration") {
  auto const all = test::traced_comparison();
  auto const page = report::page({{all}});
  auto const& traced = all.traced[0];
  auto const whole = std::max(traced.control.timeline.length_ns, traced.variant.timeline.length_ns);
  CHECK(traced.control.timeline.length_ns != traced.variant.timeline.length_ns);
  CHECK(count_of("data-width=\"" + std::to_string(whole) + "\"", page) == 2);
  auto const spans = traced.control.timeline.spans.size() + traced.variant.timeline.spans.size();
  CHECK(count_of(" us</title></path>", page) + count_of(" ns</title></path>", page) == spans);
  CHECK_THAT(page, contains(">calls 1</text>") &&
                       contains("<title>call: cudaMallocAsync, 300.0 ns</title>"));
}

TEST_CASE("a change without an interval is not called one that may be zero") {
  auto all = test::traced_comparison();
  auto const none = std::numeric_limits<double>::quiet_NaN();
  all.traced[0].tracing = {1e3, none, none};
  for (auto& each : all.traced[0].parts) { each.delta.low_ns = each.delta.high_ns = none; }
  auto const page = report::page({{all}});
  CHECK_THAT(page, !contains("not distinguishable from zero</") &&
                       contains("no interval: too few traced batches</td>"));
}

TEST_CASE("many parts make as many steps as have room") {
  auto all = test::traced_comparison();
  auto& parts = all.traced[0].parts;
  parts.clear();
  for (int i = 0; i < 20; ++i) {
    parts.push_back({"kernel", "k" + std::to_string(i), {1e3, 900, 1'100}, 0, 1e3, 0, 1, 0, 0});
  }
  auto const steps = report::detail::waterfall_steps(all, all.traced[0]);
  CHECK(steps.size() == report::detail::waterfall_parts + 4);  // both ends, others, tracing
  auto const [end, sum] = end_and_sum(all);
  CHECK(sum == Approx(end));
}

TEST_CASE("a timeline is drawn for each variant, says what it leaves out, and has a table") {
  auto all = test::traced_comparison();
  auto const page = report::page({{all}});
  CHECK(count_of("class=\"view\"", page) == 2);
  CHECK(count_of("data-zoom=\"in\"", page) == 2);
  CHECK_THAT(page, contains("spans, which is all."));
  CHECK_THAT(page, contains("Table: spans by name, one mutex"));
  CHECK_THAT(page, contains("<a href=\"run.one-mutex.json\">run.one-mutex.json</a>"));
  auto& line = all.traced[0].variant.timeline;
  line.left_out = 7;
  line.spans.push_back({99, 0, 0, 5});  // of no lane
  line.spans.push_back({0, 999, 0, 5});
  line.spans.push_back({-1, 0, 0, 5});
  auto const broken = report::page({{all}});
  CHECK_THAT(broken, contains("the longest; it leaves out 10 others."));
  line = {};
  all.traced[0].variant.file.clear();
  CHECK(count_of("class=\"view\"", report::page({{all}})) == 1);
}

TEST_CASE("a file name is a relative address, whatever it holds") {
  CHECK(report::detail::encoded_name("a.b-c_1") == "a.b-c_1");
  CHECK(report::detail::encoded_name("javascript:x/..\"<") == "javascript%3Ax%2F..%22%3C");
  auto all = test::traced_comparison();
  std::string const evil = "</script><b onclick='x'>";
  auto& traced = all.traced[0];
  for (auto* side : {&traced.control, &traced.variant}) {
    side->file = side->bound = side->bound_reason = evil;
    for (auto& each : side->idle) { each.cause = evil; }
    for (auto* texts : {&side->timeline.lanes, &side->timeline.kinds, &side->timeline.names}) {
      for (auto& each : *texts) { each = evil; }
    }
  }
  for (auto& each : traced.parts) { each.kind = each.name = evil; }
  traced.variant.variant = -3;
  all.ceilings[0].name = all.ceilings[1].name = evil;
  auto const page = report::page({{all}});
  CHECK(page.find("<b onclick") == std::string::npos);
  CHECK(count_of("</script>", page) == 1);
}

TEST_CASE("rates stand below the ceilings: a roofline with FLOPs, strips without") {
  auto all = test::traced_comparison();
  auto const page = report::page({{all}});
  CHECK_THAT(page, contains(">Roofline</h2>") && contains("FLOP a byte, as declared") &&
                       contains("Ceilings: cudaMemcpy device to device 4.24 TB/s; FMA"));
  for (auto& each : all.variants) { each.flops = 0; }
  auto const strips = report::page({{all}});
  CHECK_THAT(strips, contains(">Rates below the ceiling</h2>") &&
                         contains("4.00 TB/s, 94.3 % of the ceiling"));
  all.ceilings.clear();
  auto const none = report::page({{all}});
  CHECK(none.find("ceiling</h2>") == std::string::npos);
  CHECK(none.find(">Roofline</h2>") == std::string::npos);
}

TEST_CASE("a page with long timelines stays below its limit") {
  auto all = test::traced_comparison(12, 400);
  for (int i = 0; i < 6; ++i) { all.traced.push_back(all.traced[0]); }
  for (auto& each : all.traced) {
    for (auto* side : {&each.control, &each.variant}) {
      auto const spans = side->timeline.spans;
      for (int i = 0; i < 3; ++i) {
        side->timeline.spans.insert(side->timeline.spans.end(), spans.begin(), spans.end());
      }
    }
  }
  auto const page = report::page({{all}});
  CHECK(page.size() < report::page_limit + 20'000);
  CHECK_THAT(page, contains("Parts are left out to keep the page small"));
  CHECK_THAT(page, contains("the longest; it leaves out"));
}

// For page_in_browser.py, which names the file.
TEST_CASE("the record that the browser looks at", "[.record]") {
  auto const* const path = std::getenv("ASSAY_RECORD");
  REQUIRE(path != nullptr);
  write_atomically(path, report::json(test::traced_comparison(12, 60)));
}
