// SPDX-License-Identifier: Apache-2.0

// assay-uses: cupti

#include "catch.hpp"

#include <assay/cupti/counters.hpp>

#include <cstring>
#include <map>

using namespace assay;
using assay::test::contains;
using assay::test::message_of;

namespace {

/// A CUPTI without a GPU: it keeps the order of calls, checks that each is allowed where it comes,
/// and fails where a test wants it to.
struct fake {
  int hosts = 0;  // made and not given back
  bool enabled = false, started = false, in_range = false;
  std::size_t passes_wanted = 1, passes_done = 0;
  std::size_t ranges = 0;  // that were measured
  std::vector<std::string> calls;
  std::string fail_at;
  CUptiResult fail_with = CUPTI_ERROR_HARDWARE_BUSY;
  std::vector<std::string> misuse;
  std::size_t dropped = 2, places = 0;  // of ranges; as many as were asked for
  CUpti_ProfilerRange range = CUPTI_Range_INVALID;
  CUpti_ProfilerReplayMode replay = CUPTI_Replay_INVALID;
};
fake now;

void expect(bool right, char const* what) {
  if (!right) { now.misuse.emplace_back(what); }
}

CUptiResult call(char const* name) {
  now.calls.emplace_back(name);
  return now.fail_at == name ? now.fail_with : CUPTI_SUCCESS;
}

template <class Function>
void* address(Function function) {
  return reinterpret_cast<void*>(function);
}

template <class Parameters>
using function = CUptiResult (*)(Parameters*);

CUptiResult enable(CUpti_RangeProfiler_Enable_Params* asked) {
  auto const code = call("enable");
  expect(!now.enabled, "enabled twice");
  now.enabled = code == CUPTI_SUCCESS;
  asked->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(&now);
  return code;
}
CUptiResult disable(CUpti_RangeProfiler_Disable_Params*) {
  expect(now.enabled && !now.started && !now.in_range, "disabled while something was open");
  now.enabled = false;
  return call("disable");
}
CUptiResult start(CUpti_RangeProfiler_Start_Params*) {
  expect(now.enabled && !now.started, "started without need");
  auto const code = call("start");
  now.started = code == CUPTI_SUCCESS;
  return code;
}
CUptiResult stop(CUpti_RangeProfiler_Stop_Params* asked) {
  expect(now.started && !now.in_range, "stopped in a range");
  now.started = false;
  asked->isAllPassSubmitted = ++now.passes_done >= now.passes_wanted;
  return call("stop");
}
CUptiResult push(CUpti_RangeProfiler_PushRange_Params*) {
  expect(now.started && !now.in_range, "pushed in a range");
  auto const code = call("push");
  now.in_range = code == CUPTI_SUCCESS;
  now.ranges = std::max<std::size_t>(now.ranges, 1);
  return code;
}
CUptiResult pop(CUpti_RangeProfiler_PopRange_Params*) {
  expect(now.in_range, "popped outside of a range");
  now.in_range = false;
  return call("pop");
}
CUptiResult set_config(CUpti_RangeProfiler_SetConfig_Params* asked) {
  now.range = asked->range;
  now.replay = asked->replayMode;
  now.places = asked->maxRangesPerPass;
  expect(asked->configSize == 3 && asked->pConfig[2] == 7, "another config image");
  expect(asked->counterDataImageSize == 64, "another data image");
  return call("set_config");
}
CUptiResult evaluate(CUpti_Profiler_Host_EvaluateToGpuValues_Params* asked) {
  for (std::size_t i = 0; i < asked->numMetrics; ++i) {  // told apart by range and metric
    asked->pMetricValues[i] = static_cast<double>(100 * asked->rangeIndex + i);
  }
  return call("evaluate");
}

std::map<std::string, void*> functions() {
  return {
      {"cuptiGetResultString", address(+[](CUptiResult code, char const** text) {
         *text = code == CUPTI_ERROR_HARDWARE_BUSY ? "CUPTI_ERROR_HARDWARE_BUSY" : "CUPTI_ERROR";
         return CUPTI_SUCCESS;
       })},
      {"cuptiDeviceGetChipName",
       address(function<CUpti_Device_GetChipName_Params>{[](auto*) { return call("chip_name"); }})},
      {"cuptiProfilerInitialize", address(function<CUpti_Profiler_Initialize_Params>{
                                      [](auto*) { return call("initialize"); }})},
      {"cuptiProfilerDeInitialize", address(function<CUpti_Profiler_DeInitialize_Params>{
                                        [](auto*) { return call("deinitialize"); }})},
      {"cuptiProfilerGetCounterAvailability",
       address(function<CUpti_Profiler_GetCounterAvailability_Params>{
           [](auto*) { return call("availability"); }})},
      {"cuptiProfilerHostInitialize",
       address(function<CUpti_Profiler_Host_Initialize_Params>{[](auto* asked) {
         ++now.hosts;
         asked->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(&now);
         return CUPTI_SUCCESS;
       }})},
      {"cuptiProfilerHostDeinitialize",
       address(function<CUpti_Profiler_Host_Deinitialize_Params>{[](auto*) {
         --now.hosts;
         return CUPTI_SUCCESS;
       }})},
      {"cuptiProfilerHostConfigAddMetrics",
       address(function<CUpti_Profiler_Host_ConfigAddMetrics_Params>{
           [](auto*) { return CUPTI_SUCCESS; }})},
      {"cuptiProfilerHostGetConfigImageSize",
       address(function<CUpti_Profiler_Host_GetConfigImageSize_Params>{[](auto* asked) {
         asked->configImageSize = 3;
         return CUPTI_SUCCESS;
       }})},
      {"cuptiProfilerHostGetConfigImage",
       address(function<CUpti_Profiler_Host_GetConfigImage_Params>{[](auto* asked) {
         asked->pConfigImage[2] = 7;
         return CUPTI_SUCCESS;
       }})},
      {"cuptiProfilerHostGetNumOfPasses",
       address(function<CUpti_Profiler_Host_GetNumOfPasses_Params>{[](auto* asked) {
         asked->numOfPasses = now.passes_wanted;
         return CUPTI_SUCCESS;
       }})},
      {"cuptiProfilerHostEvaluateToGpuValues", address(evaluate)},
      {"cuptiRangeProfilerEnable", address(enable)},
      {"cuptiRangeProfilerDisable", address(disable)},
      {"cuptiRangeProfilerGetCounterDataSize",
       address(function<CUpti_RangeProfiler_GetCounterDataSize_Params>{[](auto* asked) {
         asked->counterDataSize = 64;
         return call("data_size");
       }})},
      {"cuptiRangeProfilerCounterDataImageInitialize",
       address(function<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>{
           [](auto*) { return call("data_initialize"); }})},
      {"cuptiRangeProfilerSetConfig", address(set_config)},
      {"cuptiRangeProfilerStart", address(start)},
      {"cuptiRangeProfilerStop", address(stop)},
      {"cuptiRangeProfilerPushRange", address(push)},
      {"cuptiRangeProfilerPopRange", address(pop)},
      {"cuptiRangeProfilerDecodeData",
       address(function<CUpti_RangeProfiler_DecodeData_Params>{[](auto* asked) {
         asked->numOfRangeDropped = now.dropped;
         return call("decode");
       }})},
      {"cuptiRangeProfilerGetCounterDataInfo",
       address(function<CUpti_RangeProfiler_GetCounterDataInfo_Params>{[](auto* asked) {
         asked->numTotalRanges = std::min(now.ranges, now.places);
         return call("data_info");
       }})},
  };
}

/// The functions above, of which none has the name `without`; all others fail.
trace::cupti_api api(std::string const& without = {}) {
  return trace::cupti_api{
      trace::cupti_functions{[all = functions(), without](std::string const& name) {
        auto const at = all.find(name);
        auto* const other = address(+[] { return CUPTI_ERROR_NOT_SUPPORTED; });
        return name == without ? nullptr : at == all.end() ? other : at->second;
      }}};
}

int drained;

trace::counter_results count(std::function<void()> const& run, int warm_up = 0,
                             trace::counter_scope scope = trace::counter_scope::range) {
  auto const library = api();
  trace::counter_host const host{library, "FAKE"};
  auto const plan = host.plan({"a__b.sum", "c__d.sum"});
  return trace::count_passes(
      host, library, nullptr, plan, scope, 8, warm_up, [] { ++drained; }, run);
}

bool all_is_given_back() {
  return !now.enabled && !now.started && !now.in_range && now.hosts == 0 && now.misuse.empty();
}

}  // namespace

TEST_CASE("work runs once for each pass, and once more to warm up, uncounted") {
  for (std::size_t const passes : {1U, 2U, 5U}) {
    for (int const warm_up : {0, 1, 2}) {
      INFO(passes << " passes, " << warm_up << " warm-up");
      now = {};
      now.passes_wanted = passes;
      drained = 0;
      int runs = 0, counted_runs = 0;
      auto const got = count(
          [&] {
            ++runs;
            counted_runs += now.in_range;
            CHECK(drained == 2 * runs - 1);  // what came before is done
          },
          warm_up);
      CHECK(runs == static_cast<int>(passes) + warm_up);
      CHECK(counted_runs == static_cast<int>(passes));
      CHECK(drained == 2 * runs);
      CHECK(got.passes == passes);
      CHECK(got.ranges_lost == 2);
      REQUIRE(got.rows.size() == 1);
      CHECK(got.rows[0] == std::vector<double>{0, 1});
      CHECK(now.range == CUPTI_UserRange);
      CHECK(now.replay == CUPTI_UserReplay);
      CHECK(all_is_given_back());
    }
  }
}

TEST_CASE("values for each kernel need no range and run the work once") {
  now = {};
  now.passes_wanted = 5;
  now.passes_done = 4;  // CUPTI replays by itself and says so after one run
  now.ranges = 2;
  int runs = 0;
  auto const got = count([&] { ++runs; }, 0, trace::counter_scope::kernel);
  CHECK(runs == 1);
  CHECK(got.passes == 5);
  REQUIRE(got.rows.size() == 2);
  CHECK(got.rows[1] == std::vector<double>{100, 101});
  CHECK(now.range == CUPTI_AutoRange);
  CHECK(now.replay == CUPTI_KernelReplay);
  CHECK(std::ranges::find(now.calls, "push") == now.calls.end());
  CHECK(all_is_given_back());
}

TEST_CASE("kernels beyond the room are not lost in silence, also where CUPTI counts none") {
  for (std::size_t const kernels : {7U, 8U, 9U, 30U}) {
    for (std::size_t const dropped : {0U, 3U}) {
      INFO(kernels << " kernels, " << dropped << " dropped");
      now = {};
      now.dropped = dropped;
      now.ranges = kernels;
      auto const got = count([] {}, 0, trace::counter_scope::kernel);
      CHECK(got.rows.size() == std::min<std::size_t>(kernels, 8));
      CHECK(got.ranges_lost == dropped + (kernels > 8 ? 1 : 0));
    }
  }
}

TEST_CASE("whichever call fails, the error names it and all is given back") {
  for (auto const* const at : {"enable", "data_size", "data_initialize", "set_config", "start",
                               "push", "pop", "stop", "decode", "data_info", "evaluate"}) {
    INFO(at);
    now = {};
    now.fail_at = at;
    auto const text = message_of([] { count([] {}); });
    CHECK_THAT(text, contains("CUPTI_ERROR_HARDWARE_BUSY (26)") && contains("cupti"));
    CHECK(all_is_given_back());
    CHECK(std::ranges::count(now.calls, "enable") == 1);
    CHECK(std::ranges::count(now.calls, "disable") == (std::string{at} == "enable" ? 0 : 1));
  }
}

TEST_CASE("what the work throws is passed on, and all is given back") {
  now = {};
  CHECK_THAT(message_of([] { count([] { throw std::runtime_error("no luck"); }); }),
             contains("no luck"));
  CHECK(all_is_given_back());
  CHECK(std::ranges::count(now.calls, "pop") == 1);
  CHECK(std::ranges::count(now.calls, "stop") == 1);
}

TEST_CASE("a CUPTI that never has enough passes is not obeyed without end") {
  now = {};
  auto const library = api();
  trace::counter_host const host{library, "FAKE"};
  auto const plan = host.plan({"a__b.sum"});
  now.passes_wanted = 1'000'000;
  int runs = 0;
  CHECK_THAT(message_of([&] {
               trace::count_passes(
                   host, library, nullptr, plan, trace::counter_scope::range, 8, 0, [] {},
                   [&] { ++runs; });
             }),
             contains("still not done"));
  CHECK(runs == 2);
  CHECK(!now.enabled);
}

TEST_CASE("the profiler interface is up while somebody holds it, and down after the last") {
  using calls = std::vector<std::string>;
  now = {};
  {
    trace::profiler_hold const first{api()};
    { trace::profiler_hold const second{api()}; }
    CHECK(now.calls == calls{"initialize"});
  }
  CHECK(now.calls == calls{"initialize", "deinitialize"});
  { trace::profiler_hold const again{api()}; }
  CHECK(now.calls == calls{"initialize", "deinitialize", "initialize", "deinitialize"});
}

TEST_CASE("a profiler interface that cannot be had is not taken down, and may be had later") {
  now = {};
  now.fail_at = "initialize";
  CHECK_THAT(message_of([] { trace::profiler_hold const none{api()}; }),
             contains("cuptiProfilerInitialize: CUPTI_ERROR_HARDWARE_BUSY (26)"));
  now.fail_at = {};
  { trace::profiler_hold const later{api()}; }
  CHECK(now.calls == std::vector<std::string>{"initialize", "initialize", "deinitialize"});
}

TEST_CASE("a library that lacks a function is not used, and says which") {
  auto const lacking = api("cuptiRangeProfilerStop");
  CHECK(!lacking.available());
  CHECK_THAT(lacking.why_missing(), contains("cuptiRangeProfilerStop"));
  trace::counters absent{{}, lacking};
  CHECK(absent.status().is == trace::counter_status::state::missing_library);
  CHECK_THAT(absent.status().line(), contains("cuptiRangeProfilerStop") &&
                                         contains("LD_LIBRARY_PATH") && contains("libnvperf_host"));
  auto const got = absent.measure([] { FAIL("it runs although nothing can be counted"); });
  CHECK(got.status == absent.status());
  CHECK(got.ranges.empty());
}

TEST_CASE("every obstacle has a state and a remedy") {
  using state = trace::counter_status::state;
  struct expectation {
    CUptiResult code;
    state is;
    char const* remedy;
  };
  for (auto const& each : std::vector<expectation>{
           {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, state::no_permission, "SYS_ADMIN"},
           {CUPTI_ERROR_HARDWARE_BUSY, state::busy, "DCGM"},
           {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, state::busy, "another profiler"},
           {CUPTI_ERROR_NOT_INITIALIZED, state::missing_library, "libnvperf_host.so"},
           {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, state::unsupported, "MIG"},
           {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, state::unsupported, "confidential"},
           {CUPTI_ERROR_NOT_SUPPORTED, state::unsupported, "MPS"},
           {CUPTI_ERROR_UNKNOWN, state::failed, ""}}) {
    INFO(each.code);
    auto const status = trace::status_of(each.code, "cuptiX: text");
    CHECK(status.is == each.is);
    CHECK(status.code == static_cast<int>(each.code));
    CHECK_THAT(status.line(), contains("cuptiX: text") && contains(each.remedy));
    CHECK(status.line().find('\n') == std::string::npos);
  }
}

TEST_CASE("options out of range are refused") {
  CHECK_THROWS_AS((trace::counters{{.warm_up = -1}, api()}), std::invalid_argument);
  CHECK_THROWS_AS((trace::counters{{.max_kernels = 0}, api()}), std::invalid_argument);
}

TEST_CASE("without a GPU the status says so, and nothing runs") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) { return; }
  (void)cudaGetLastError();
  now = {};
  trace::counters none{{}, api()};
  CHECK(none.status());
  auto const got = none.measure([] { FAIL("it runs without a GPU"); });
  CHECK(got.status.is == trace::counter_status::state::no_device);
  CHECK_THAT(got.status.line(), contains("no usable GPU"));
  CHECK(all_is_given_back());
}
