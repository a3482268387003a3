// assay-uses: cupti

// SPDX-License-Identifier: Apache-2.0
// The recorder against a CUPTI made for the test, and without a driver.
#include <assay/cupti/recorder.hpp>

#include "catch.hpp"
#include "record_ranges.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

using namespace assay;
using namespace assay::trace;

namespace {

/// What the library under the recorder was asked, and what it shall do.
struct fake {
  std::vector<std::string> asked;
  std::uint32_t version = CUPTI_API_VERSION;
  CUptiResult subscribing = CUPTI_SUCCESS;
  CUptiResult enabling = CUPTI_SUCCESS;
  std::size_t dropped = 0;
  int records_at_flush = 0;  ///< kernels with their calls
  char const* kernel_name = "plain";
  std::uint64_t graph_node = 0;
  bool unfinished_record = false;
  std::string throws_at;  ///< a step that throws, as where memory runs out
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::uint32_t correlation = 0;
};
fake* now = nullptr;

/// Kernels and their calls, written as CUPTI does, into as many buffers as it takes.
void write_records(int pairs) {
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  std::size_t most = 0;
  std::size_t used = 0;
  auto const put = [&](auto const& record) {
    if (buffer == nullptr || used + sizeof record > size) {
      if (buffer != nullptr) { now->complete(nullptr, 0, buffer, size, used); }
      now->request(&buffer, &size, &most);
      used = 0;
    }
    std::memcpy(buffer + used, &record, sizeof record);
    used += sizeof record;
  };
  for (int i = 0; i < pairs; ++i) {
    auto const at = static_cast<std::uint64_t>(system_clock_ns());
    cupti::call call{};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.cbid = 211;
    call.start = at;
    call.end = at + 10;
    call.correlationId = ++now->correlation;
    cupti::kernel kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.start = at + 20;
    kernel.end = at + 30;
    kernel.name = now->kernel_name;
    kernel.graphNodeId = now->graph_node;
    kernel.correlationId = now->correlation;
    put(call);
    put(kernel);
  }
  if (now->unfinished_record) {
    cupti::call unknown{};
    unknown.kind = CUPTI_ACTIVITY_KIND_INVALID;
    put(unknown);
  }
  if (buffer != nullptr) { now->complete(nullptr, 0, buffer, size, used); }
}

/// Everything but walking through a buffer and naming calls is answered by `now`.
cupti_functions replaced_functions() {
  auto made = *cupti_api::load();
  made.version = [](std::uint32_t* version) {
    *version = now->version;
    return CUPTI_SUCCESS;
  };
  made.subscribe = [](CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*,
                      CUpti_SubscriberParams* who) {
    now->asked.push_back("subscribe");
    if (now->subscribing == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
      std::strncpy(who->oldSubscriberName, "CUPTI for other", who->oldSubscriberSize);
    }
    return now->subscribing;
  };
  made.unsubscribe = [](CUpti_SubscriberHandle) {
    now->asked.push_back("unsubscribe");
    return CUPTI_SUCCESS;
  };
  made.set_thread_id_type = [](CUpti_ActivityThreadIdType type) {
    now->asked.push_back("threads");
    return type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM ? CUPTI_SUCCESS
                                                        : CUPTI_ERROR_INVALID_PARAMETER;
  };
  made.activity_set_attribute = [](CUpti_ActivityAttribute, std::size_t*, void*) {
    now->asked.push_back("attribute");
    return CUPTI_SUCCESS;
  };
  made.activity_register_callbacks = [](CUpti_BuffersCallbackRequestFunc request,
                                        CUpti_BuffersCallbackCompleteFunc complete) {
    if (now->throws_at == "register") { throw std::bad_alloc{}; }
    now->asked.push_back("register");
    now->request = request;
    now->complete = complete;
    return CUPTI_SUCCESS;
  };
  made.activity_enable = [](CUpti_ActivityKind kind) {
    now->asked.push_back("enable " + std::to_string(kind));
    return now->enabling;
  };
  made.activity_enable_and_dump = made.activity_enable;
  made.activity_disable = [](CUpti_ActivityKind kind) {
    now->asked.push_back("disable " + std::to_string(kind));
    return CUPTI_SUCCESS;
  };
  made.activity_enable_runtime_api = [](CUpti_CallbackId id, std::uint8_t enable) {
    char const* name = nullptr;
    cupti_api::load()->callback_name(CUPTI_CB_DOMAIN_RUNTIME_API, id, &name);
    now->asked.push_back(std::string{enable != 0 ? "with " : "without "} + name);
    return CUPTI_SUCCESS;
  };
  made.activity_enable_driver_api = [](CUpti_CallbackId, std::uint8_t) {
    now->asked.push_back("driver call");
    return CUPTI_SUCCESS;
  };
  made.activity_flush_all = [](std::uint32_t forced) {
    if (forced != 0 && now->throws_at == "flush") { throw std::bad_alloc{}; }
    if (forced != 0) { now->asked.push_back("flush"); }
    write_records(forced != 0 ? now->records_at_flush : 0);
    return CUPTI_SUCCESS;
  };
  made.activity_dropped_records = [](CUcontext, std::uint32_t, std::size_t* count) {
    *count = now->dropped;
    return CUPTI_SUCCESS;
  };
  return made;
}

cupti_api stand_in() { return cupti_api{replaced_functions()}; }

std::string note(model const& in, std::string const& what) {
  for (auto const& [key, value] : in.notes) {
    if (key == what) { return value; }
  }
  return {};
}
bool asked(fake const& of, std::string const& what) {
  return std::count(of.asked.begin(), of.asked.end(), what) == 1;
}
std::size_t when(fake const& of, std::string const& what) {
  return static_cast<std::size_t>(std::find(of.asked.begin(), of.asked.end(), what) -
                                  of.asked.begin());
}
std::string kind(CUpti_ActivityKind which) { return std::to_string(which); }

}  // namespace

TEST_CASE("A recording asks CUPTI in the order that works, and gives its records and the ranges") {
  fake library;
  now = &library;
  library.records_at_flush = 1000;
  library.dropped = 3;
  recorder tracer{{}, stand_in()};
  CHECK(tracer.status().what == recorder_status::kind::idle);
  tracer.start();
  CHECK(tracer.status().what == recorder_status::kind::recording);
  { nvtx_range const here{"here"}; }
  auto const made = tracer.stop();
  CHECK(tracer.status().what == recorder_status::kind::idle);

  CHECK(when(library, "subscribe") == 0);
  CHECK(when(library, "threads") < when(library, "register"));
  CHECK(when(library, "attribute") < when(library, "register"));
  auto const kernels = kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  auto const calls = kind(CUPTI_ACTIVITY_KIND_RUNTIME);
  CHECK(when(library, "register") < when(library, "enable " + kernels));
  CHECK(when(library, "enable " + calls) < when(library, "without cudaGetDevice_v3020"));
  CHECK(asked(library, "without cudaStreamIsCapturing_ptsz_v10000"));
  CHECK_FALSE(asked(library, "without cudaGetDeviceFlags_v7000"));
  CHECK_FALSE(asked(library, "without cudaLaunchKernel_v7000"));
  CHECK_FALSE(asked(library, "enable " + kind(CUPTI_ACTIVITY_KIND_DRIVER)));
  CHECK_FALSE(asked(library, "enable " + kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)));
  CHECK_FALSE(asked(library, "enable " + kind(CUPTI_ACTIVITY_KIND_KERNEL)));
  CHECK(when(library, "disable " + calls) < when(library, "flush"));
  CHECK(when(library, "flush") < when(library, "disable " + kernels));
  CHECK(library.asked.back() == "unsubscribe");
  auto const begins = [&](std::string const& word) {
    return std::count_if(library.asked.begin(), library.asked.end(),
                         [&](auto const& each) { return each.starts_with(word); });
  };
  CHECK(begins("enable ") == begins("disable "));

  CHECK(made.kernels.size() == 1000);
  CHECK(made.lost.dropped == 3);
  CHECK(made.lost.unmatched == 1000);  // their calls came after the stop
  REQUIRE(made.ranges.size() == 1);
  CHECK(made.strings[made.ranges[0].name] == "here");
  CHECK(made.window.begin >= 0);
  CHECK(made.ranges[0].when.begin >= made.window.begin);
  CHECK(made.source == "assay recorder, CUPTI " + std::to_string(CUPTI_API_VERSION));
}

TEST_CASE("Records that come while it records are kept, many times over") {
  fake library;
  now = &library;
  recorder tracer{{}, stand_in()};
  int const rounds = assay::test::small() ? 3 : 20;
  for (int i = 0; i < rounds; ++i) {
    tracer.start();
    write_records(20'000);
    auto const made = tracer.stop();
    REQUIRE(made.kernels.size() == 20'000);
    REQUIRE(made.calls.size() == 20'000);
    REQUIRE(made.lost == losses{});
  }
  CHECK_THROWS_WITH(tracer.stop(), assay::test::contains("start it first"));
}

TEST_CASE("Memory is bounded: what a slow reader leaves is dropped and counted, nothing else") {
  fake library;
  now = &library;
  constexpr std::size_t held = 300;  // more than fit into the memory for records
  struct buffer {
    std::uint8_t* data;
    std::size_t size;
  };
  std::vector<buffer> all(held);
  recorder tracer{{}, stand_in()};
  tracer.start();
  cupti::kernel kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = kernel.end = static_cast<std::uint64_t>(system_clock_ns());
  kernel.name = "plain";
  for (auto& each : all) {
    std::size_t most = 0;
    library.request(&each.data, &each.size, &most);
    std::memcpy(each.data, &kernel, sizeof kernel);
  }
  for (auto const& each : all) {
    library.complete(nullptr, 0, each.data, each.size, sizeof kernel);
  }
  auto const made = tracer.stop();
  buffer_limits const limits;
  CHECK(made.kernels.size() <= limits.most_bytes / limits.buffer_bytes);
  CHECK(made.kernels.size() > held / 2);
  CHECK(made.kernels.size() + made.lost.dropped == held);
  CHECK(note(made, "buffers beyond the limit, their records dropped") ==
        std::to_string(made.lost.dropped));

  recorder few{{.most_rows = 100}, stand_in()};
  few.start();
  write_records(100);
  auto const cut = few.stop();
  CHECK(cut.kernels.size() + cut.calls.size() == 100);
  CHECK(cut.lost.dropped == 100);
}

TEST_CASE("A buffer that ends in an unfinished record gives what stands before it") {
  fake library;
  now = &library;
  library.unfinished_record = true;
  recorder tracer{{}, stand_in()};
  tracer.start();
  write_records(10);
  library.unfinished_record = false;
  auto const made = tracer.stop();
  CHECK(made.kernels.size() == 10);
  CHECK(note(made, "buffers that ended in an unfinished record") == "1");
}

TEST_CASE("Under another tool it steps aside, names it, and ranges go on") {
  fake library;
  now = &library;
  library.subscribing = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  recorder tracer{{}, stand_in()};
  for (int i = 0; i < 2; ++i) {
    tracer.start();
    CHECK(tracer.status().what == recorder_status::kind::other_tool);
    CHECK(tracer.status().text == "CUPTI for other traces this process, and has the trace");
    { nvtx_range const here{"here"}; }
    auto const made = tracer.stop();
    CHECK(made.ranges.size() == 1);
    CHECK(made.kernels.empty());
    CHECK(note(made, "CUDA is not recorded") ==
          "CUPTI for other traces this process, and has the trace");
  }
  CHECK(std::count(library.asked.begin(), library.asked.end(), "subscribe") == 2);
  CHECK(library.asked.size() == 2);  // nothing else was asked of CUPTI

  for (auto const* const variable :
       {"NSYS_PROFILING_SESSION_ID", "NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "CUDA_INJECTION64_PATH",
        "NSYSDK_INJECTION64_PATH"}) {
    INFO(variable);
    library.asked.clear();
    ::setenv(variable, "/nowhere/tool.so", 1);
    tracer.start();
    ::unsetenv(variable);
    CHECK(tracer.status().what == recorder_status::kind::other_tool);
    CHECK_THAT(tracer.status().text, assay::test::contains(variable));
    CHECK(library.asked.empty());
    { nvtx_range const here{"here"}; }
    CHECK(tracer.stop().ranges.size() == 1);
  }

  // The tool is gone: the next recording is whole.
  library.subscribing = CUPTI_SUCCESS;
  tracer.start();
  CHECK(tracer.status().what == recorder_status::kind::recording);
  write_records(10);
  CHECK(tracer.stop().kernels.size() == 10);
}

TEST_CASE("A library that is too old, or refuses, is a status and a note, not an exception") {
  fake library;
  now = &library;
  library.version = 28;
  recorder tracer{{}, stand_in()};
  tracer.start();
  CHECK(tracer.status().what == recorder_status::kind::too_old);
  CHECK(library.asked.empty());
  CHECK_THAT(note(tracer.stop(), "CUDA is not recorded"), assay::test::contains("130000"));

  library.version = CUPTI_API_VERSION;
  library.enabling = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  tracer.start();
  CHECK(tracer.status().what == recorder_status::kind::failed);
  CHECK_THAT(tracer.status().text, assay::test::contains("CAP_SYS_ADMIN"));
  CHECK_THAT(note(tracer.stop(), "CUDA is not recorded"),
             assay::test::contains("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"));
  CHECK(library.asked.back() == "unsubscribe");
}

TEST_CASE("What is asked for is what is switched on") {
  fake library;
  now = &library;
  recorder tracer{{.kernels = false,
                   .copies = false,
                   .memsets = false,
                   .runtime_calls = false,
                   .driver_calls = true,
                   .synchronizations = false,
                   .memory = false,
                   .overheads = false,
                   .ranges = false},
                  stand_in()};
  tracer.start();
  { nvtx_range const here{"not recorded"}; }
  auto const made = tracer.stop();
  CHECK(made.ranges.empty());
  CHECK(std::count_if(library.asked.begin(), library.asked.end(),
                      [](auto const& each) { return each.starts_with("enable "); }) == 1);
  CHECK(asked(library, "enable " + kind(CUPTI_ACTIVITY_KIND_DRIVER)));
  CHECK(std::count(library.asked.begin(), library.asked.end(), "driver call") > 1);
}

TEST_CASE("A copy of a graph that comes as the driver's kernel is noted") {
  fake library;
  now = &library;
  auto const said = [&](char const* name, std::uint64_t node) {
    library.records_at_flush = 3;
    library.kernel_name = name;
    library.graph_node = node;
    recorder tracer{{}, stand_in()};
    tracer.start();
    return note(tracer.stop(), "copies of graphs that CUPTI took for kernels, memcpy32_post");
  };
  CHECK(said("memcpy32_post", 7) == "3");
  CHECK(said("memcpy32_post", 0).empty());  // a kernel of that name which somebody launched
  CHECK(said("plain", 7).empty());
}

TEST_CASE(
    "What is recorded warm is the second of two calls, and the recording's window begins there") {
  int calls = 0;
  auto const made = record_warm({}, [&] {
    nvtx_range const here{"call", category::cpu, static_cast<std::uint64_t>(++calls)};
  });
  CHECK(calls == 2);
  REQUIRE(made.ranges.size() == 1);
  CHECK(made.ranges[0].payload == 2);
  CHECK(made.window.begin > 0);
  CHECK(made.window.begin < made.ranges[0].when.begin);
  CHECK(made.ranges[0].when.end <= made.window.end);
  CHECK_THROWS_AS(record_warm({}, [] { throw std::runtime_error("no"); }), std::runtime_error);
  CHECK_NOTHROW(record_warm({}, [] {}));  // a recorder is not left behind
}

TEST_CASE("A second recorder is refused, and the first goes on") {
  fake library;
  now = &library;
  recorder first{{}, stand_in()};
  first.start();
  {
    recorder second{{}, stand_in()};
    CHECK_THROWS_WITH(second.start(), assay::test::contains("another trace::recorder"));
    CHECK_THROWS_WITH(first.start(), assay::test::contains("records already"));
  }
  write_records(4);
  CHECK(first.stop().kernels.size() == 4);
  // One that goes while it records lets the next begin.
  {
    recorder lost{{}, stand_in()};
    lost.start();
  }
  first.start();
  CHECK(first.status().what == recorder_status::kind::recording);
  CHECK(first.stop().kernels.empty());
}

TEST_CASE("A recording that throws at its start or end lets the next one begin") {
  fake library;
  now = &library;
  recorder tracer{{}, stand_in()};
  for (auto const* step : {"register", "flush"}) {
    library.throws_at = step;
    if (library.throws_at == "register") {
      CHECK_THROWS_AS(tracer.start(), std::bad_alloc);
    } else {
      tracer.start();
      CHECK_THROWS_AS(tracer.stop(), std::bad_alloc);
    }
    CHECK(library.asked.back() == "unsubscribe");
    CHECK(tracer.status().what == recorder_status::kind::idle);
    library.throws_at = "";
    recorder next{{}, stand_in()};
    next.start();
    write_records(4);
    CHECK(next.stop().kernels.size() == 4);
  }
}

TEST_CASE("Ranges that are recorded elsewhere leave nothing half on") {
  fake library;
  now = &library;
  recorder good{{}, stand_in()};
  (void)test::record_ranges([&] { CHECK_THROWS_AS(good.start(), std::logic_error); });
  CHECK(library.asked.back() == "unsubscribe");
  good.start();
  (void)good.stop();
}

TEST_CASE(
    "Without CUPTI the ranges are recorded, and the status and the notes say what is missing") {
  recorder tracer{{}, cupti_api{cupti_functions{[](char const*) -> void* { return nullptr; }}}};
  tracer.start();
  CHECK(tracer.status().what == recorder_status::kind::no_library);
  CHECK_THAT(tracer.status().text, assay::test::contains("cuptiGetVersion"));
  { nvtx_range const here{"here"}; }
  auto const made = tracer.stop();
  CHECK_THAT(note(made, "CUDA is not recorded"), assay::test::contains("cuptiGetVersion"));
  REQUIRE(made.ranges.size() == 1);
  CHECK(made.strings[made.ranges[0].name] == "here");
}

TEST_CASE("Without a driver the status says so, and ranges are recorded") {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver != 0) { return; }
  recorder tracer;
  tracer.start();
  CHECK(tracer.status().what == recorder_status::kind::no_driver);
  { nvtx_range const here{"here"}; }
  auto const made = tracer.stop();
  CHECK(made.ranges.size() == 1);
  CHECK(note(made, "CUDA is not recorded") == "no CUDA driver on this machine");
  CHECK_THROWS_AS(record({}, [] { throw std::runtime_error("work"); }), std::runtime_error);
  CHECK(record({}, [] {}).ranges.empty());
}
