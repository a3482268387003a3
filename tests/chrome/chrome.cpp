// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "trace/files.hpp"
#include "trace/golden.hpp"

#include <assay/chrome/chrome.hpp>
#include <assay/chrome/read.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
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

}  // namespace

TEST_CASE("a trace comes back from JSON as it was") {
  folder const here;
  auto far = golden::everything();
  far.window = {1'765'008'149'091'427'284, 1'765'008'149'191'427'285};
  far.epoch_ns = 0;
  far = [](model of) {  // times since 1970, which doubles cannot tell in microseconds
    model kept;
    kept.strings = of.strings;
    kept.window = of.window;
    kept.calls = {of.calls.front()};
    kept.calls[0].when = {of.window.begin + 1, of.window.end - 1};
    return kept;
  }(far);
  for (auto const& before : {model{}, golden::everything(), far}) {
    write_chrome(before, here / "t.json");
    test::check_same(before, read_chrome(here / "t.json"));
    CHECK(here.entries() == 1);
  }
}

TEST_CASE("random traces come back from JSON as they were, and nest on every track") {
  folder const here;
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto const before = golden::random_model(seed + i, 60);
    write_chrome(before, here / "t.json");
    test::check_same(before, read_chrome(here / "t.json"));
    check_nested(nlohmann::json::parse(test::content(here / "t.json")));
  }
}

TEST_CASE("what is not finite comes back") {
  folder const here;
  golden::builder b;
  auto const infinity = std::numeric_limits<double>::infinity();
  b.counter("a", 1, infinity);
  b.counter("a", 2, -infinity);
  b.counter("a", 3, std::numeric_limits<double>::quiet_NaN());
  write_chrome(b.trace, here / "t.json");
  auto const after = read_chrome(here / "t.json").counters;
  REQUIRE(after.size() == 3);
  CHECK(after[0].value == infinity);
  CHECK(after[1].value == -infinity);
  CHECK(after[2].value != after[2].value);
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
  b.counter("bytes", 100, 1.5);
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
  CHECK(events(file, "counter").at(0)["args"]["value"] == 1.5);
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
  for (std::int64_t i = 0; i < 20'000; ++i) {
    b.range("r", {i, 30'000 + i}, golden::main_thread, {}, range_style::start_end);
  }
  for (std::int64_t i = 0; i < 1'000; ++i) { b.range("later", {60'000 + 2 * i, 60'001 + 2 * i}); }
  chrome_tracks const tracks{b.trace, {}};
  CHECK(tracks.of(chrome_tracks::ranges, 0).tid == 100);
  CHECK(tracks.of(chrome_tracks::ranges, 20'500).tid == 100);
}

TEST_CASE("a process with the number of a device keeps its tracks apart") {
  golden::builder b;
  b.launch("k", {0, 1}, {2, 3}, {1, 7, 1}, {1, 7});
  auto const file = written(b.trace);
  CHECK(events(file, "cuda_runtime").at(0)["pid"] == 1);
  CHECK(events(file, "kernel").at(0)["pid"] != 1);
}

TEST_CASE("names that are no UTF-8 are repaired, so that they show") {
  folder const here;
  golden::builder b;
  b.kernel("caf\xe9 \xf0\x9f\x98\x80 \xc3", {0, 1});
  write_chrome(b.trace, here / "t.json");
  auto const after = read_chrome(here / "t.json");
  CHECK(after.strings[after.kernels.at(0).name] == "caf\xef\xbf\xbd \xf0\x9f\x98\x80 \xef\xbf\xbd");
}

TEST_CASE("JSON that is not ours is refused by name, with the reason") {
  folder const here;
  auto const why = [&](std::string const& text) {
    test::put(here / "t.json", text);
    return test::message_of([&] { (void)read_chrome(here / "t.json"); });
  };
  write_chrome(golden::everything(), here / "good.json");
  auto const good = test::content(here / "good.json");
  CHECK_THAT(why(""), test::contains("t.json: "));
  CHECK_THAT(why("{}"), test::contains("it is no trace of assay"));
  CHECK_THAT(why("[]"), test::contains("it is no trace of assay"));
  CHECK_THAT(why("{\"traceEvents\": [{\"ph\": \"X\"}]}"),
             test::contains("it is no trace of assay"));
  CHECK_THAT(why("SQLite format 3"), test::contains("parse error"));
  for (std::size_t const part : {1, 2, 5, 9}) {
    CHECK_THAT(why(good.substr(0, good.size() * part / 10)), test::contains("cannot read"));
  }
  auto const changed = [&](std::string const& what, std::string const& to) {
    auto text = good;
    auto const at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), to);
  };
  CHECK_THAT(why(changed("\"format\":1", "\"format\":9")), test::contains("its format is 9"));
  CHECK_THAT(why(changed("\"ts\":1.000", "\"ts\":1e300")), test::contains("out of range"));
  CHECK_THAT(why(changed("\"ts\":1.000", "\"ts\":\"x\"")), test::contains("no number"));
  CHECK_THAT(why(changed("\"dur\":0.800", "\"dur\":-1")), test::contains("out of range"));
  CHECK_THAT(why(changed("\"correlation\":1,", "\"correlation\":-1,")),
             test::contains("out of range"));
  CHECK_THAT(why(changed("\"kinds\":[1,1,2]", "\"kinds\":[99,1,2]")),
             test::contains("out of range"));
  CHECK_THAT(why(changed("\"kinds\":[1,1,2]", "\"kinds\":[1]")), test::contains("cannot read"));
  CHECK_THAT(why(changed("Stream Wait Event", "Nap")), test::contains("unknown kind of wait"));
  CHECK_THAT(why(std::string(200'000, '[')), test::contains("cannot read"));
  CHECK_THAT(test::message_of([&] { (void)read_chrome(here / "missing"); }),
             test::contains("missing: No such file"));
}
