// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since a program has one tool of NVTX, from before main on
#include <assay/core/nvtx_range.hpp>
#include <assay/cupti/nvtx_hook.hpp>
#include <assay/trace/ranges.hpp>

#include "catch.hpp"
#include "record_ranges.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>
#include <thread>

using namespace assay;
using trace::model;
using trace::range_style;

namespace {

// NVTX calls before main are recorded too, where the header stood before them.
model const of_statics = test::record_ranges([] {
  nvtxRangePushA("before main");
  nvtxRangePop();
});

trace::range_record const& the(model const& in, std::string const& name) {
  auto const found = std::find_if(in.ranges.begin(), in.ranges.end(),
                                  [&](auto const& row) { return in.strings[row.name] == name; });
  INFO(name);
  REQUIRE(found != in.ranges.end());
  return *found;
}
std::string domain_of(model const& in, trace::range_record const& row) {
  return std::string{in.strings[row.domain]};
}
nvtxEventAttributes_t event() {
  nvtxEventAttributes_t made{};
  made.version = NVTX_VERSION;
  made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return made;
}

}  // namespace

TEST_CASE("The hook is in place before main, and attached once NVTX was called") {
  if (std::getenv("NVTX_INJECTION64_PATH") != nullptr) {  // another tool wins
    CHECK(trace::nvtx_hook::state() == trace::nvtx_hook_state::other_tool);
    CHECK(of_statics.ranges.empty());
    return;
  }
  CHECK(trace::nvtx_hook::state() == trace::nvtx_hook_state::attached);
  CHECK(trace::nvtx_hook::install() == trace::nvtx_hook_state::attached);
  REQUIRE(of_statics.ranges.size() == 1);
  the(of_statics, "before main");
}

TEST_CASE("Plain pushes, pops, starts, ends and marks of the default domain are recorded") {
  auto const made = test::record_ranges([] {
    nvtxRangePushA("outer");
    nvtxRangePushA("inner");
    nvtxRangePushW(L"wide");
    nvtxRangePop();
    nvtxMarkA("moment");
    nvtxMarkW(L"wide moment");
    nvtxRangePop();
    nvtxRangePop();
    auto const id = nvtxRangeStartA("task");
    auto const wide = nvtxRangeStartW(L"wide task");
    CHECK(id != wide);
    std::thread{[&] { nvtxRangeEnd(id); }}.join();
    nvtxRangeEnd(wide);
  });
  REQUIRE(made.ranges.size() == 7);
  auto const& outer = the(made, "outer");
  auto const& inner = the(made, "inner");
  CHECK(outer.when.begin <= inner.when.begin);
  CHECK(inner.when.end <= outer.when.end);
  CHECK(outer.style == range_style::push_pop);
  CHECK(domain_of(made, outer).empty());
  CHECK(the(made, "moment").style == range_style::mark);
  auto const& task = the(made, "task");
  CHECK(task.style == range_style::start_end);
  CHECK(task.end_thread != task.thread);
  CHECK(std::count_if(made.ranges.begin(), made.ranges.end(), [&](auto& row) {
          return made.strings[row.name].empty();  // of wide characters
        }) == 3);
  CHECK(std::all_of(made.ranges.begin(), made.ranges.end(), [](auto& row) { return row.ended; }));
  CHECK(made.notes.empty());
}

TEST_CASE("Domains, registered strings, categories, colours and payloads are kept") {
  // Made before the recording, as libraries do.
  auto* const domain = nvtxDomainCreateA("library");
  auto* const second = nvtxDomainCreateA("second library");
  auto* const name = nvtxDomainRegisterStringA(domain, "registered");
  auto* const second_name = nvtxDomainRegisterStringA(second, "second registered");
  auto const made = test::record_ranges([&] {
    auto what = event();
    what.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    what.message.registered = name;
    what.category = 42;
    what.colorType = NVTX_COLOR_ARGB;
    what.color = 0xFF112233;
    what.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    what.payload.llValue = -5;
    nvtxDomainRangePushEx(domain, &what);
    // The pop of another domain leaves this one open.
    nvtxDomainRangePop(second);

    auto other = event();
    other.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    other.message.registered = second_name;
    other.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    other.payload.dValue = 1.5;
    auto const id = nvtxDomainRangeStartEx(second, &other);
    nvtxDomainRangeEnd(second, id);

    auto marked = event();
    marked.messageType = NVTX_MESSAGE_TYPE_ASCII;
    marked.message.ascii = "marked";
    nvtxDomainMarkEx(domain, &marked);
    nvtxMarkEx(&marked);
    auto nameless = event();
    nvtxRangePushEx(&nameless);
    nvtxRangePop();
    nvtxDomainRangePop(domain);
  });
  auto const& row = the(made, "registered");
  CHECK(domain_of(made, row) == "library");
  CHECK(row.category == 42);
  CHECK(row.argb == 0xFF112233);
  CHECK(static_cast<std::int64_t>(row.payload) == -5);
  CHECK(row.ended);
  auto const& other = the(made, "second registered");
  CHECK(domain_of(made, other) == "second library");
  CHECK(std::bit_cast<double>(other.payload) == 1.5);
  CHECK(other.argb == 0);
  CHECK(std::count_if(made.ranges.begin(), made.ranges.end(),
                      [&](auto& each) { return made.strings[each.name] == "marked"; }) == 2);
  CHECK(the(made, "").ended);
  REQUIRE(made.notes.size() == 1);  // the pop that had nothing to end
  CHECK(made.notes[0].second == "1");
}

TEST_CASE("The library's own ranges are recorded once") {
  auto const made = test::record_ranges([] {
    nvtxRangePushA("theirs");
    { nvtx_range const ours{"ours", category::gpu, 3}; }
    nvtxRangePop();
  });
  REQUIRE(made.ranges.size() == 2);
  CHECK(domain_of(made, the(made, "ours")) == "assay");
  CHECK(the(made, "ours").payload == 3);
}

TEST_CASE("Threads are called as they call themselves") {
  auto const here = static_cast<std::uint32_t>(::gettid());
  nvtxNameOsThreadA(here, "the main thread");
  auto const made = test::record_ranges([] {});
  REQUIRE(made.threads.size() == 1);
  CHECK(made.threads[0].thread.thread == here);
  CHECK(made.strings[made.threads[0].name] == "the main thread");
}

TEST_CASE("Dropped pushes take their pops with them") {
  auto* const domain = nvtxDomainCreateA("other");
  auto const made = test::record_ranges(
      [&] {
        auto what = event();
        what.messageType = NVTX_MESSAGE_TYPE_ASCII;
        what.message.ascii = "domain";
        nvtxRangePushA("outermost");
        nvtxDomainRangePushEx(domain, &what);
        for (int i = 0; i < 5000; ++i) {
          nvtxRangePushA("inner");
          nvtxDomainRangePushEx(domain, &what);
          nvtxRangePop();  // domains need not nest in each other
          nvtxDomainRangePop(domain);
        }
        nvtxDomainRangePop(domain);
        nvtxRangePop();
      },
      std::size_t{128} << 10U);
  CHECK(made.lost.dropped > 1000);
  CHECK(made.ranges.size() + made.lost.dropped == 10'002);
  auto const& outermost = the(made, "outermost");
  CHECK(std::all_of(made.ranges.begin(), made.ranges.end(), [&](auto const& row) {
    return row.ended && row.when.begin >= outermost.when.begin &&
           row.when.end <= outermost.when.end;
  }));
  REQUIRE(made.notes.size() == 1);
  CHECK(made.notes[0].first == "ranges dropped, since their memory was full");
}
