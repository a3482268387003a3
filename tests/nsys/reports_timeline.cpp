// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "trace/golden.hpp"

#include <assay/nsys/reports.hpp>
#include <assay/nsys/reports_timeline.hpp>
#include <assay/nsys/select.hpp>
#include <assay/report/overlap_words.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/trace/top_kernels.hpp>

#include <cctype>
#include <cstddef>
#include <sstream>
#include <string>

using namespace assay;
using namespace assay::test::golden;
namespace test = assay::test;

namespace {

std::string csv(table const& of) {
  std::ostringstream out;
  report::csv_table(out, of);
  return out.str();
}

/// Two steps on a device, and a kernel on another.
model sample() {
  builder b;
  b.device(0, "GPU");
  b.range("step", {0, 300});
  b.range("step", {10, 290});  // inside: its work is that of the outer one
  b.launch_copy(copy_kind::host_to_device, 6000, {0, 10}, {20, 80}, {0, 13});
  b.launch("k", {10, 20}, {60, 160}, {0, 14});
  b.launch("k", {20, 30}, {110, 180}, {0, 15});
  b.call("cudaStreamSynchronize_v3020", {30, 190});
  b.range("step", {400, 600});
  b.launch_copy(copy_kind::device_to_host, 1000, {400, 410}, {440, 460}, {0, 13});
  b.set(64, {500, 510}, {0, 13}, b.last_correlation());
  b.kernel("ncclKernel", {0, 40}, {1, 7, 2});
  return b.trace;
}

}  // namespace

TEST_CASE("busy and idle time as a table, device by device and of any of them") {
  auto const trace = sample();
  CHECK(csv(gpu_time_sum(trace)) ==
        "Span (ns),Busy (ns),Busy (%),Kernels (ns),Memory (ns),Idle (ns),Host Bound (ns),"
        "Dependency (ns),Stream Order (ns),Tracer (ns),Other (ns),Device\n"
        "490,190,38.8,120,90,300,260,0,40,0,0,GPU (0)\n"
        "40,40,100.0,40,0,0,0,0,0,0,0,Device (1)\n"
        "510,210,41.2,,,300,,,,,,any of them\n");
  CHECK(gpu_time_sum(select(trace, {.device = 1})).rows() == 1);
}

TEST_CASE("a cause of idle time has one name in sentences and columns") {
  auto const trace = sample();
  for (std::size_t cause = 0; cause < idle_causes; ++cause) {
    std::string title{to_string(static_cast<idle_cause>(cause))};
    for (std::size_t i = 0; i < title.size(); ++i) {
      if (i == 0 || title[i - 1] == ' ') { title[i] = static_cast<char>(std::toupper(title[i])); }
    }
    CHECK_THAT(csv(gpu_time_sum(trace)), test::contains("," + title + " (ns),"));
  }
}

TEST_CASE("gaps of streams as a table") {
  auto const trace = sample();
  CHECK(
      csv(stream_gap_sum(trace)) ==
      "Device,Ctx,Strm,Gaps,Total (ns),Avg (ns),Med (ns),Max (ns),Host Bound (ns),Dependency (ns),"
      "Stream Order (ns),Tracer (ns),Other (ns)\n"
      "0,1,13,2,400,200.0,200.0,360,360,0,40,0,0\n");
}

TEST_CASE("overlap, concurrency and launches as tables") {
  auto const trace = sample();
  CHECK(csv(overlap_sum(trace)) ==
        "Count,Bytes (MB),Time (ns),Hidden (ns),Hidden (%),Exposed (ns),Rate (GB/s),Device,"
        "Operation\n"
        "1,0.006,60,20,33.3,40,100.000,GPU (0),Host-to-Device\n"
        "1,0.001,20,0,0.0,20,50.000,GPU (0),Device-to-Host\n"
        ",,80,20,25.0,60,,GPU (0),all copies\n"
        ",,40,0,0.0,40,,Device (1),communication beside compute\n");
  CHECK(csv(concurrency_sum(trace)) ==
        "Time (%),Time (ns),Kernels,Device\n"
        "58.3,70,1,GPU (0)\n"
        "41.7,50,2,GPU (0)\n"
        "100.0,40,1,Device (1)\n");
  CHECK(csv(launch_sum(trace)) ==
        "Device,Ctx,Strm,Launches,Call Avg (ns),Call Med (ns),Delay Avg (ns),Delay Med (ns),"
        "Delay Min (ns),Delay Max (ns),Queue Avg,Queue Max,Shorter than Call (%)\n"
        "0,1,14,1,10.0,10.0,40.0,40.0,40,40,1.0,1,0.0\n"
        "0,1,15,1,10.0,10.0,80.0,80.0,80,80,1.0,1,0.0\n");
}

TEST_CASE("copies both ways at once have a row") {
  builder b;
  b.copy(copy_kind::host_to_device, 1, {0, 10});
  b.copy(copy_kind::device_to_host, 1, {4, 20});
  auto const all = overlap_sum(b.trace);
  REQUIRE(all.rows() == 4);
  CHECK(all.text(3, all.column_of("Operation")) == "both ways at once");
  CHECK(all.integer(3, all.column_of("Time (ns)")) == 6);
}

TEST_CASE("graphs recorded whole count as one kernel at once and have a class of their own") {
  builder b;
  b.kernel("k", {0, 40});
  b.whole_graph({30, 100});
  CHECK(csv(concurrency_sum(b.trace)) ==
        "Time (%),Time (ns),Kernels,Device\n"
        "90.0,90,1,Device (0)\n"
        "10.0,10,2,Device (0)\n");
  CHECK_THAT(csv(class_shares(b.trace)), test::contains("63.6,70,1,70.0,whole graphs\n"));
  CHECK_THAT(csv(top_kernels(b.trace)), test::contains("63.6,63.6,70,1,70.0,[graph]\n"));
  // With its nodes in the trace, the launch would count twice.
  auto const launch = b.call("cudaGraphLaunch_v10000", {0, 5}).correlation;
  b.trace.graph_launches[0].where.correlation = launch;
  b.node("n", {30, 100}, launch, 1);
  CHECK_THAT(csv(class_shares(b.trace)), !test::contains("whole graphs"));
  CHECK_THAT(csv(concurrency_sum(b.trace)), test::contains("10.0,10,2,Device (0)"));
}

TEST_CASE("a copy beneath a graph that was recorded whole is hidden, and so is communication") {
  builder b;
  b.whole_graph({0, 100});
  b.copy(copy_kind::host_to_device, 1, {10, 90});
  b.copy(copy_kind::peer_to_peer, 1, {80, 120});
  auto const found = overlap(b.trace);
  REQUIRE(found.size() == 1);
  CHECK((found[0].kernels_ns == 100 && found[0].compute_ns == 100));
  CHECK(found[0].use(copy_direction::to_device).exposed_ns() == 0);
  CHECK((found[0].communication_ns == 40 && found[0].communication_hidden_ns == 20));
  CHECK(found[0].mean_kernels_at_once == 1);
}

TEST_CASE("page migrations of unified memory are told apart from copies") {
  builder b;
  b.kernel("k", {0, 100});
  b.copy(copy_kind::unified_host_to_device, 4000, {50, 90});
  b.copy(copy_kind::unified_device_to_host, 4000, {200, 240});
  auto const only = explain_overlap(b.trace);
  CHECK(only.copies_ns == 0);
  CHECK(only.reasons.empty());
  auto const words = report::overlap_sentences(only, b.trace);
  REQUIRE(words.size() == 2);
  CHECK(words[0] == "There are no copies.");
  CHECK_THAT(words[1], test::contains("Device (0) migrated pages of unified memory") &&
                           test::contains("50.0 %"));
  CHECK(csv(overlap_sum(b.trace)) ==
        "Count,Bytes (MB),Time (ns),Hidden (ns),Hidden (%),Exposed (ns),Rate (GB/s),Device,"
        "Operation\n"
        "2,0.008,80,40,50.0,40,100.000,Device (0),page migration\n");
  b.copy(copy_kind::host_to_device, 100, {300, 310});
  auto const both = explain_overlap(b.trace);
  CHECK(both.copies_ns == 10);
  REQUIRE(both.reasons.size() == 1);
  CHECK(both.reasons[0].copies == 1);
}

TEST_CASE("launches tell delay, queue and what is shorter than its launch") {
  builder b;
  b.launch("a", {0, 10}, {15, 40});     // delay 5, ran 25
  b.launch("a", {10, 20}, {40, 60});    // delay 20; queued from 20
  b.launch("a", {20, 50}, {60, 70});    // delay 10; ran less than its call took
  b.launch("a", {90, 100}, {95, 140});  // started before its call returned: delay -5
  auto const graph = b.call("cudaGraphLaunch_v10000", {120, 130}).correlation;
  b.node("n", {150, 152}, graph, 1);
  b.node("n", {152, 155}, graph, 2);
  b.kernel("nobody asked", {0, 1000});
  b.launch("a", {0, 10}, {20, 30}, {0, 8});
  CHECK_THAT(csv(launch_sum(b.trace)),
             // Graph and third kernel took longer to launch than to run. Open from launch to end:
             // [10, 40) [20, 60) [50, 70) [95, 140) [130, 155), so 160 of 145 on average.
             test::contains("\n0,1,7,5,14.0,10.0,10.0,10.0,-5,20,1.1,2,40.0\n") &&
                 test::contains("\n0,1,8,1,10.0,10.0,10.0,10.0,10,10,1.0,1,0.0\n"));
}

TEST_CASE("our own reports are found by name, and are made of empty and of random traces") {
  model const empty;
  auto const full = everything();
  auto const random = random_model(assay::test::fresh_seed(), 60);
  for (auto const& each : trace::own_reports()) {
    INFO(each.name);
    CHECK(make_report(each.name, empty).rows() == 0);
    CHECK(make_report(each.name, full).name() == each.name);
    CHECK(make_report(each.name, random).rows() > 0);
  }
}
