// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "trace/files.hpp"
#include "trace/golden.hpp"

#include <assay/chrome/chrome.hpp>
#include <assay/chrome/tracks.hpp>
#include <assay/core/utf8.hpp>
#include <assay/trace/strings.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::trace;
using assay::test::folder;
namespace golden = assay::test::golden;

namespace {

nlohmann::json written(model const& trace) {
  folder const here;
  write_chrome(trace, here / "t.json");
  return nlohmann::json::parse(test::content(here / "t.json"));
}

std::vector<nlohmann::json> events(nlohmann::json const& file, std::string const& category) {
  std::vector<nlohmann::json> found;
  for (auto const& each : file["traceEvents"]) {
    if (each.value("cat", "") == category) { found.push_back(each); }
  }
  return found;
}

std::int64_t nanoseconds(nlohmann::json const& value) {
  return std::llround(value.get<double>() * 1000);
}

/// Checks that of any two spans of a track one holds the other or they are apart.
void check_nested(nlohmann::json const& file) {
  std::map<std::pair<std::int64_t, std::int64_t>,
           std::vector<std::pair<std::int64_t, std::int64_t>>>
      tracks;
  for (auto const& each : file["traceEvents"]) {
    if (each["ph"] != "X") { continue; }
    auto const begin = nanoseconds(each["ts"]);
    tracks[{each["pid"], each["tid"]}].emplace_back(begin, -(begin + nanoseconds(each["dur"])));
  }
  for (auto& [track, spans] : tracks) {
    std::sort(spans.begin(), spans.end());
    std::vector<std::int64_t> open;
    for (auto const& [begin, minus_end] : spans) {
      while (!open.empty() && open.back() <= begin) { open.pop_back(); }
      INFO("pid " << track.first << " tid " << track.second << " at " << begin);
      CHECK((open.empty() || -minus_end <= open.back()));
      open.push_back(-minus_end);
    }
  }
}

/// Checks that every row of a trace has its event, in order and with its time and place.
void check_whole(model const& of, nlohmann::json const& file) {
  auto const base = file["baseTimeNanoseconds"].get<std::int64_t>() - of.epoch_ns;
  auto const same = [&](std::string const& category, auto const& rows, auto const& check) {
    auto const all = events(file, category);
    INFO(category);
    REQUIRE(all.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      INFO("row " << i);
      if constexpr (requires { rows[i].when; }) {
        CHECK(nanoseconds(all[i]["ts"]) + base == rows[i].when.begin);
        if (all[i]["ph"] == "X") { CHECK(nanoseconds(all[i]["dur"]) == rows[i].when.length()); }
      } else {
        CHECK(nanoseconds(all[i]["ts"]) + base == rows[i].at);
      }
      if constexpr (requires { rows[i].where; }) {
        CHECK(all[i]["args"]["device"] == rows[i].where.device);
        CHECK(all[i]["args"]["context"] == rows[i].where.context);
        CHECK(all[i]["args"]["correlation"] == rows[i].where.correlation);
        CHECK(all[i]["args"].value("process", 0U) == rows[i].where.process);
        CHECK(all[i]["args"].value("graph node id", std::uint64_t{0}) == rows[i].where.graph_node);
      }
      check(all[i], rows[i]);
    }
  };
  auto const named = [&](auto const& event, string_id name) {
    CHECK(event["name"] == repaired_utf8(of.strings[name]));
  };
  same("kernel", of.kernels, [&](auto const& event, kernel_run const& run) {
    named(event, run.name);
    CHECK(event["args"]["grid"] == nlohmann::json(run.grid));
    CHECK(event["args"]["block"] == nlohmann::json(run.block));
  });
  same("gpu_memcpy", of.copies, [&](auto const& event, memory_copy const& copy) {
    CHECK(event["args"]["bytes"] == copy.bytes);
  });
  same("gpu_memset", of.memsets, [&](auto const& event, memset_operation const& fill) {
    CHECK(event["args"]["value"] == fill.value);
  });
  same("gpu_graph", of.graph_launches, [&](auto const& event, graph_launch const& launch) {
    CHECK(event["args"]["graph exec id"] == launch.executable);
  });
  same("cuda_sync", of.synchronizations, [&](auto const& event, synchronization const& wait) {
    CHECK(event["args"].value("event", 0U) == wait.event);
  });
  same("user_annotation", of.ranges, [&](auto const& event, range_record const& range) {
    named(event, range.name);
    CHECK(event["pid"] == range.thread.process);
    CHECK(event["args"].value("payload", std::uint64_t{0}) == range.payload);
    CHECK(event["args"].value("ended", true) == range.ended);
  });
  same("cpu_instant_event", of.memory, [&](auto const& event, memory_event const& each) {
    CHECK(event["args"]["Addr"] == each.address);
    CHECK(event["args"]["bytes"] == each.bytes);
  });
  same("overhead", of.overheads,
       [&](auto const& event, overhead const& cost) { named(event, cost.name); });
  std::array<std::vector<api_call>, 3> calls;
  for (auto const& call : of.calls) { calls[static_cast<std::size_t>(call.layer)].push_back(call); }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    same(std::string{chrome::category(static_cast<api>(i))}, calls[i],
         [&](auto const& event, api_call const& call) {
           auto const& args = event["args"];
           auto const name = repaired_utf8(of.strings[call.name]);
           CHECK((args.contains("function") ? args["function"] : event["name"]) == name);
           CHECK(args["correlation"] == call.correlation);
           CHECK(args.value("result", 0) == call.result);
         });
  }
}

constexpr auto golden_text = R"json({
"schemaVersion":1,
"deviceProperties":[
{"id":0,"name":"NVIDIA H200","totalGlobalMem":150754820096,"computeMajor":9,"computeMinor":0,"maxThreadsPerBlock":1024,"maxThreadsPerMultiprocessor":2048,"regsPerMultiprocessor":65536,"sharedMemPerMultiprocessor":233472,"warpSize":32,"numSms":132,"l2CacheSize":62914560,"memoryBytesPerSecond":4800000000000,"clockHertz":1980000000}],
"displayTimeUnit":"ns",
"baseTimeNanoseconds":1765008149091427284,
"traceEvents":[
{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"GPU 0"}},
{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},
{"ph":"M","name":"process_sort_index","pid":0,"tid":0,"args":{"sort_index":5000000}},
{"ph":"M","name":"process_name","pid":100,"tid":0,"args":{"name":"process 100"}},
{"ph":"M","name":"process_labels","pid":100,"tid":0,"args":{"labels":"CPU"}},
{"ph":"M","name":"process_sort_index","pid":100,"tid":0,"args":{"sort_index":0}},
{"ph":"M","name":"thread_name","pid":100,"tid":100,"args":{"name":"main"}},
{"ph":"M","name":"process_name","pid":-1,"tid":0,"args":{"name":"overhead"}},
{"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"stream 7"}},
{"ph":"M","name":"thread_sort_index","pid":0,"tid":7,"args":{"sort_index":0}},
{"ph":"M","name":"thread_name","pid":0,"tid":1073741824,"args":{"name":"stream 7 (sync)"}},
{"ph":"M","name":"thread_sort_index","pid":0,"tid":1073741824,"args":{"sort_index":1}},
{"ph":"M","name":"thread_name","pid":-1,"tid":1073741825,"args":{"name":"thread 100"}},
{"ph":"M","name":"thread_sort_index","pid":-1,"tid":1073741825,"args":{"sort_index":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":100,"tid":100,"ts":1.001,"dur":1.001,"args":{"correlation":1,"function":"cudaLaunchKernel_v7000"}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":100,"tid":100,"ts":2.500,"dur":0.100,"args":{"correlation":2,"result":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":100,"tid":100,"ts":4.000,"dur":0.100,"args":{"correlation":3,"function":"cudaMemcpyAsync_v3020"}},
{"ph":"X","cat":"overhead","name":"flush","pid":-1,"tid":1073741825,"ts":6.000,"dur":1.000,"args":{"correlation":0,"process":100,"thread":100}},
{"ph":"X","cat":"user_annotation","name":"step","pid":100,"tid":100,"ts":1.000,"dur":4.000,"args":{"domain":"assay","payload":7}},
{"ph":"i","cat":"user_annotation","name":"here","pid":100,"tid":100,"ts":6.000,"s":"t","args":{"domain":""}},
{"ph":"X","cat":"kernel","name":"k<\"x\\y\"\u000a>","pid":0,"tid":7,"ts":3.003,"dur":10.004,"args":{"device":0,"context":1,"stream":7,"correlation":1,"process":100,"registers per thread":0,"shared memory":0,"grid":[1,1,1],"block":[32,1,1],"cluster":[2,1,1],"graph id":4}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy PtoP (Device -> Device)","pid":0,"tid":7,"ts":20.000,"dur":1.000,"args":{"device":0,"context":1,"stream":7,"correlation":3,"process":100,"bytes":5000,"memory bandwidth (GB/s)":5,"to device":1}},
{"ph":"X","cat":"gpu_memset","name":"Memset (Device)","pid":0,"tid":7,"ts":22.000,"dur":0.100,"args":{"device":0,"context":1,"stream":7,"correlation":0,"process":100,"bytes":64,"memory bandwidth (GB/s)":0.64,"value":255}},
{"ph":"X","cat":"gpu_graph","name":"Graph 2","pid":0,"tid":7,"ts":23.000,"dur":1.000,"args":{"device":0,"context":1,"stream":7,"correlation":0,"process":100,"graph id":0,"graph exec id":2}},
{"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":1073741824,"ts":30.000,"dur":1.000,"args":{"device":0,"context":1,"waiting stream":7,"correlation":0,"process":100}},
{"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":3.002,"dur":17.999,"args":{"device":0}},
{"ph":"s","cat":"ac2g","name":"ac2g","pid":100,"tid":100,"ts":1.001,"id":1},
{"ph":"f","cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":3.003,"id":1,"bp":"e"},
{"ph":"s","cat":"ac2g","name":"ac2g","pid":100,"tid":100,"ts":4.000,"id":3},
{"ph":"f","cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":20.000,"id":3,"bp":"e"},
{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":100,"tid":100,"ts":8.000,"s":"t","args":{"device":0,"context":1,"stream":7,"correlation":0,"process":100,"Bytes":-512,"Addr":4096,"Device Id":0,"bytes":512,"released":true,"kind":2}}]})json";

}  // namespace

TEST_CASE("a trace is written event by event, each on a line of its own") {
  folder const here;
  golden::builder b;
  b.trace.epoch_ns = 1'765'008'149'091'427'284;
  b.trace.window = {-5, 90'000};
  b.trace.source = "by \"hand\" 1.0";
  b.trace.notes = {{"clock", "realtime"}, {"empty", ""}};
  b.trace.lost.dropped = 3;
  b.device(0);
  b.thread_is_called(golden::main_thread, "main");
  auto& run = b.launch("k<\"x\\y\"\n>", {1001, 2002}, {3003, 13'007});
  run.cluster = {2, 1, 1};
  run.graph = 4;
  b.call("cudaMalloc", {2500, 2600}).result = 2;
  b.launch_copy(copy_kind::peer_to_peer, 5000, {4000, 4100}, {20'000, 21'000}).to_device = 1;
  b.set(64, {22'000, 22'100}).value = 255;
  b.whole_graph({23'000, 24'000}).graph = 0;
  b.sync(sync_kind::stream_wait, {30'000, 31'000});
  b.range("step", {1000, 5000}, golden::main_thread, "assay").payload = 7;
  b.mark("here", 6000);
  b.cost("flush", {6000, 7000});
  b.release(4096, 512, 8000);
  write_chrome(b.trace, here / "t.json");
  CHECK(here.entries() == 1);
  CHECK(test::content(here / "t.json") == golden_text);
}

TEST_CASE("random traces are whole in JSON, and nest on every track") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto const before = golden::random_model(seed + i, 60);
    auto const file = written(before);
    check_whole(before, file);
    check_nested(file);
  }
  check_whole({}, written({}));
  check_whole(golden::everything(), written(golden::everything()));
}

TEST_CASE("times since 1970, which doubles cannot tell in microseconds, count from the window") {
  model far;
  far.window = {1'765'008'149'091'427'284, 1'765'008'149'191'427'285};
  far.calls.emplace_back().when = {far.window.begin + 1, far.window.end - 1};
  auto const file = written(far);
  CHECK(file["baseTimeNanoseconds"] == far.window.begin);
  CHECK(events(file, "cuda_runtime").at(0)["ts"] == 0.001);
  CHECK(events(file, "cuda_runtime").at(0)["dur"] == 99'999.999);
}

TEST_CASE("graphs recorded whole have names of their own") {
  golden::builder b;
  b.whole_graph({0, 10}).graph = 5;
  auto& other = b.whole_graph({20, 30});
  other.graph = 0;  // as the recorder leaves it
  other.executable = 6;
  auto const all = events(written(b.trace), "gpu_graph");
  REQUIRE(all.size() == 2);
  CHECK(all[0]["name"] == "Graph 5");
  CHECK(all[1]["name"] == "Graph 6");
}

TEST_CASE("events have the fields of the dialect") {
  golden::builder b;
  b.trace.epoch_ns = 1'765'008'149'091'427'284;
  auto& run = b.launch("kernel <\"x\\y\"\n>", {1001, 2002}, {3003, 13'007}, {1, 7, 4});
  run.grid = {10, 2, 1};
  run.block = {128, 1, 1};
  run.static_shared_bytes = 100;
  run.dynamic_shared_bytes = 28;
  run.registers_per_thread = 40;
  b.launch_copy(copy_kind::host_to_device, 5000, {4000, 4100}, {20'000, 21'000});
  b.set(64, {22'000, 22'100});
  b.sync(sync_kind::stream, {30'000, 31'000});
  b.range("step", {1000, 5000}, golden::main_thread, "assay");
  b.cost("flush", {6000, 7000});
  auto const file = written(b.trace);
  CHECK(file["schemaVersion"] == 1);
  CHECK(file["baseTimeNanoseconds"] == 1'765'008'149'091'427'284);

  auto const kernels = events(file, "kernel");
  REQUIRE(kernels.size() == 1);
  auto const& kernel = kernels[0];
  CHECK(kernel["name"] == "kernel <\"x\\y\"\n>");
  CHECK(kernel["ph"] == "X");
  CHECK(kernel["pid"] == 1);
  CHECK(kernel["tid"] == 7);
  CHECK(kernel["ts"] == 3.003);
  CHECK(kernel["dur"] == 10.004);
  CHECK(kernel["args"]["grid"] == nlohmann::json{10, 2, 1});
  CHECK(kernel["args"]["block"] == nlohmann::json{128, 1, 1});
  CHECK(kernel["args"]["shared memory"] == 128);
  CHECK(kernel["args"]["registers per thread"] == 40);
  CHECK(kernel["args"]["stream"] == 7);
  CHECK(kernel["args"]["context"] == 4);

  auto const calls = events(file, "cuda_runtime");
  REQUIRE(calls.size() == 2);
  CHECK(calls[0]["name"] == "cudaLaunchKernel");  // without CUPTI's version
  CHECK(calls[0]["args"]["correlation"] == kernel["args"]["correlation"]);
  CHECK_FALSE(calls[0]["args"].contains("stream"));  // by which readers tell host from device

  auto const arrows = events(file, "ac2g");
  REQUIRE(arrows.size() == 4);
  CHECK(arrows[0]["ph"] == "s");
  CHECK(arrows[0]["ts"] == calls[0]["ts"]);
  CHECK(arrows[0]["tid"] == calls[0]["tid"]);
  CHECK(arrows[1]["ph"] == "f");
  CHECK(arrows[1]["bp"] == "e");
  CHECK(arrows[1]["ts"] == kernel["ts"]);
  CHECK(arrows[1]["id"] == arrows[0]["id"]);
  CHECK(arrows[0]["id"] == kernel["args"]["correlation"]);

  auto const copy = events(file, "gpu_memcpy").at(0);
  CHECK(copy["name"] == "Memcpy HtoD (Pinned -> Device)");
  CHECK(copy["args"]["bytes"] == 5000);
  CHECK(copy["args"]["memory bandwidth (GB/s)"] == 5.0);
  CHECK(events(file, "gpu_memset").at(0)["name"] == "Memset (Device)");
  CHECK(events(file, "cuda_sync").at(0)["name"] == "Stream Sync");
  CHECK(events(file, "overhead").at(0)["pid"] == -1);
  CHECK(events(file, "user_annotation").at(0)["tid"] == golden::main_thread.thread);

  auto const projected = events(file, "gpu_user_annotation");
  REQUIRE(projected.size() == 2);  // on the stream of the kernel and on that of the copy
  CHECK(projected[0]["ts"] == 3.002);
  CHECK(projected[0]["dur"] == 10.006);
  CHECK(projected[0]["tid"] == 7);
  for (auto const& each : file["traceEvents"]) {
    if (each["ph"] == "X") { CHECK(each.contains("dur")); }
    if (each["ph"] == "X") { CHECK(each.contains("cat")); }
  }
}

TEST_CASE("kernels of one stream that overlap get lanes, and lanes names") {
  golden::builder b;
  b.kernel("a", {0, 100});
  b.kernel("b", {50, 150});
  b.kernel("inside", {60, 90});
  b.kernel("after", {100, 120});
  auto const file = written(b.trace);
  auto const kernels = events(file, "kernel");
  CHECK(kernels[0]["tid"] == 7);
  CHECK(kernels[1]["tid"] != 7);
  CHECK(kernels[2]["tid"] == 7);
  CHECK(kernels[3]["tid"] == 7);
  check_nested(file);
  auto named = false;
  for (auto const& each : file["traceEvents"]) {
    named = named || (each["name"] == "thread_name" && each["tid"] == kernels[1]["tid"] &&
                      each["args"]["name"] == "stream 7 (lane 2)");
  }
  CHECK(named);
}

TEST_CASE("thousands of spans that cross each other are dealt out in time") {
  golden::builder b;
  for (std::int64_t i = 0; i < 2'000; ++i) {
    b.range("r", {i, 30'000 + i}, golden::main_thread, {}, range_style::start_end);
  }
  for (std::int64_t i = 0; i < 1'000; ++i) { b.range("later", {60'000 + 2 * i, 60'001 + 2 * i}); }
  chrome_tracks const tracks{b.trace, {}};
  CHECK(tracks.of(chrome_tracks::ranges, 0).tid == 100);
  CHECK(tracks.of(chrome_tracks::ranges, 2'500).tid == 100);
}

TEST_CASE("a process with the number of a device keeps its tracks apart") {
  golden::builder b;
  b.launch("k", {0, 1}, {2, 3}, {1, 7, 1}, {1, 7});
  auto const file = written(b.trace);
  CHECK(events(file, "cuda_runtime").at(0)["pid"] == 1);
  CHECK(events(file, "kernel").at(0)["pid"] != 1);
}

TEST_CASE("names that are no UTF-8 are repaired, so that they show") {
  golden::builder b;
  b.kernel("caf\xe9 \xf0\x9f\x98\x80 \xc3", {0, 1});
  CHECK(events(written(b.trace), "kernel").at(0)["name"] ==
        "caf\xef\xbf\xbd \xf0\x9f\x98\x80 \xef\xbf\xbd");
}
