// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "report/traced_sample.hpp"

#include <assay/core/nvtx_range.hpp>
#include <assay/report/json.hpp>
#include <assay/report/traced.hpp>
#include <assay/report/traced_definitions.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace assay;

TEST_CASE("the record of a difference has its parts, its totals and both variants") {
  auto const why = test::traced_explanation(12);
  auto const made = report::traced_record(why, 3, 5, "a.json", "b.json");
  CHECK(made.control.variant == 3);
  CHECK(made.variant.variant == 5);
  CHECK(made.variant.file == "b.json");
  CHECK(made.pairs == 12);
  CHECK(made.confidence >= 0.95);
  CHECK(made.control_seconds == 60e-6);
  CHECK(made.untraced.ns == 220e3);
  CHECK(made.traced.ns == why.changes.traced.estimate);
  CHECK(made.traced.ns == Approx(made.untraced.ns + made.tracing.ns));
  CHECK(made.tracing.low_ns == Approx(made.traced.low_ns - 230e3));
  CHECK(made.tracing.high_ns == Approx(made.traced.high_ns - 210e3));
  double sum = 0;
  bool lock = false;
  for (auto const& each : made.parts) {
    sum += each.delta.ns;
    CHECK(each.name != "host bound");  // its time is split up among the host's calls
    lock = lock || (each.kind == "lock" && each.name == "wait for the mutex" &&
                    each.delta.distinguishable() && each.delta.ns > 0);
  }
  CHECK(lock);
  CHECK(sum == Approx(made.traced.ns).epsilon(0.05));  // medians do not add up exactly
}

TEST_CASE("a record says whether what tracing added is taken off its parts") {
  auto const record = [](double added_ns) {
    auto why = test::traced_explanation(12);
    for (std::size_t i = 0; i < 12; ++i) {
      auto const noise = 100.0 * static_cast<double>(i % 3);
      why.control.batches[i].tracing_ns = noise;
      why.variant.batches[i].tracing_ns = added_ns - noise;
    }
    why = trace::explain_traces(why.control, why.variant, why.time);
    return report::traced_record(why, 0, 1);
  };
  auto const much = record(30e3);
  CHECK(much.tracing_taken);
  CHECK(much.tracing.ns == Approx(30e3).epsilon(0.02));
  double sum = 0;
  for (auto const& each : much.parts) { sum += each.delta.ns; }
  CHECK(sum == Approx(much.traced.ns - much.tracing.ns).epsilon(0.05));
  auto const none = record(100);
  CHECK(!none.tracing_taken);
  CHECK(!none.tracing.distinguishable());
}

TEST_CASE("a record of one batch has no intervals") {
  auto const made = report::traced_record(test::traced_explanation(1), 0, 1);
  CHECK(made.confidence == 0);
  CHECK(std::isnan(made.traced.low_ns));
  for (auto const& each : made.parts) { CHECK(!each.delta.distinguishable()); }
  CHECK(made.control.file.empty());
}

TEST_CASE("a timeline keeps the longest spans in order, and counts the others") {
  std::mt19937_64 random{1};
  auto const trace = test::traced_batch(true, 20, random);
  auto const operations = trace.kernels.size() + trace.copies.size();
  auto const whole = report::timeline_of(trace);
  CHECK(whole.left_out == 0);
  CHECK(whole.spans.size() == operations + trace.ranges.size() + trace.calls.size());
  CHECK(whole.lanes == std::vector<std::string>{"stream 7", "stream 8", "thread 1", "thread 1.2",
                                                "thread 2", "thread 2.2", "calls 1", "calls 2"});
  CHECK(whole.length_ns == trace.calls.back().when.end);
  auto const few = report::timeline_of(trace, 10);
  CHECK(few.spans.size() == 10);
  CHECK(few.left_out == whole.spans.size() - 10);
  std::int64_t all = 0, kept = 0, shortest = few.spans.front().length_ns;
  for (auto const& each : whole.spans) { all += each.length_ns; }
  for (auto const& each : few.spans) {
    kept += each.length_ns;
    shortest = std::min(shortest, each.length_ns);
  }
  CHECK(few.left_out_ns == all - kept);
  std::size_t longer = 0;
  for (auto const& each : whole.spans) { longer += each.length_ns > shortest ? 1 : 0; }
  CHECK(longer <= 10);
  for (std::size_t i = 1; i < whole.spans.size(); ++i) {
    auto const& [lane, name, begin, length] = whole.spans[i];
    CHECK(std::pair{whole.spans[i - 1].lane, whole.spans[i - 1].begin_ns} <=
          std::pair{lane, begin});
    CHECK(begin + length <= whole.length_ns);
  }
}

TEST_CASE("a timeline has the calls of each thread, and ranges by their category") {
  test::golden::builder b;
  b.kernel("k", {0, 90}, {0, 7});
  b.range("plain", {0, 50});
  b.range("move", {0, 60}, test::golden::second_thread, "assay").argb = colour(category::transfer);
  b.call("cudaMallocAsync_v11020", {5, 9}, test::golden::second_thread);
  b.call("ioctl", {1, 80}).layer = trace::api::os;  // of the system library
  auto const made = report::timeline_of(b.trace);
  CHECK(made.lanes == std::vector<std::string>{"stream 7", "thread 1", "thread 2", "calls 2"});
  auto const& call = made.spans.back();
  CHECK(made.kinds.at(static_cast<std::size_t>(call.name)) == "call");
  CHECK(made.names.at(static_cast<std::size_t>(call.name)) == "cudaMallocAsync");
  CHECK(call.length_ns == 4);
  CHECK(made.kinds.at(static_cast<std::size_t>(made.spans.at(1).name)) == "range");
  CHECK(made.kinds.at(static_cast<std::size_t>(made.spans.at(2).name)) == "range, transfer");
}

TEST_CASE("a timeline keeps a few lanes, and counts the spans of all others") {
  test::golden::builder b;
  for (std::uint32_t stream = 1; stream <= 14; ++stream) {
    b.kernel("k", {0, 10 * stream}, {0, stream});
  }
  auto const made = report::timeline_of(b.trace);
  CHECK(made.lanes.size() == report::detail::kept_streams);
  CHECK(made.left_out == 4);
  CHECK(made.left_out_ns == 10 + 20 + 30 + 40);
  test::golden::builder two;
  two.kernel("k", {0, 10}, {0, 7});
  two.kernel("k", {0, 10}, {1, 7});
  CHECK(report::timeline_of(two.trace).lanes ==
        std::vector<std::string>{"0: stream 7", "1: stream 7"});
  trace::model const nothing;
  CHECK(report::timeline_of(nothing).spans.empty());
}

TEST_CASE("a traced record is small and survives JSON") {
  auto const all = test::traced_comparison(12, 400);
  auto const text = report::json(all);
  auto const back = report::parse_json(text);
  REQUIRE(back.traced.size() == 1);
  CHECK(back.traced[0].variant.timeline.spans.size() == report::kept_spans);
  CHECK(back.traced[0].parts.size() == all.traced[0].parts.size());
  CHECK(report::json(back) == text);
  CHECK(text.size() < 600'000);
}
