// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "trace/golden.hpp"

#include <assay/nsys/overlap_reasons.hpp>
#include <assay/nsys/select.hpp>

#include <algorithm>
#include <vector>

using namespace assay::trace;
using namespace assay::test::golden;
using enum overlap_obstacle;

namespace {

constexpr on_stream first_stream{0, 13, 1};
constexpr on_stream second_stream{0, 14, 1};
constexpr auto to_device = copy_kind::host_to_device;

std::vector<overlap_obstacle> obstacles(model const& of) {
  std::vector<overlap_obstacle> all;
  for (auto const& each : explain_overlap(view{of}).reasons) { all.push_back(each.what); }
  std::sort(all.begin(), all.end());
  return all;
}
using list = std::vector<overlap_obstacle>;

}  // namespace

TEST_CASE("a copy beside a kernel for all its time needs no reason") {
  builder b;
  b.launch("k", {0, 10}, {20, 500}, first_stream);
  b.launch_copy(to_device, 400, {10, 20}, {100, 300}, second_stream);
  auto const found = explain_overlap(view{b.trace});
  CHECK(found.reasons.empty());
  CHECK((found.copies_ns == 200 && found.hidden_ns == 200 && found.exposed_ns() == 0));
  REQUIRE(found.devices.size() == 1);
  CHECK(found.devices[0].use(copy_direction::to_device).gigabytes_per_second() == 2);
}

TEST_CASE("one stream runs one after the other") {
  builder b;
  for (int i = 0; i < 3; ++i) {
    auto const at = 1000 * i;
    b.launch_copy(to_device, 8, {at, at + 5}, {at + 100, at + 200 + 10 * i}, first_stream);
    b.launch("k", {at + 5, at + 10}, {at + 250, at + 900}, first_stream);
  }
  auto const found = explain_overlap(view{b.trace});
  REQUIRE(found.reasons.size() == 1);
  auto const& reason = found.reasons[0];
  CHECK(reason.what == same_stream);
  CHECK((reason.copies == 3 && reason.exposed_ns == 330 && reason.alone_ns == 330));
  CHECK((reason.copy == 2 && reason.kernel == 2));
}

TEST_CASE("a graph that was recorded whole is what a copy could have run beside") {
  builder b;
  b.whole_graph({20, 500}, first_stream, b.call("cudaGraphLaunch_v10000", {0, 10}).correlation);
  b.launch_copy(to_device, 8, {12, 14}, {500, 900}, first_stream);
  auto const found = explain_overlap(view{b.trace});
  REQUIRE(found.reasons.size() == 1);
  CHECK(found.reasons[0].what == same_stream);
  CHECK(found.reasons[0].kernel_kind == operation_kind::graph);
  CHECK(found.reasons[0].kernel == 0);
}

TEST_CASE("copies on a device without kernels have nothing to overlap") {
  builder b;
  b.launch_copy(to_device, 8, {0, 5}, {10, 20}, first_stream);
  b.launch("elsewhere", {0, 5}, {10, 20}, {1, 20, 2});
  CHECK(obstacles(b.trace) == list{no_kernels});
}

TEST_CASE("pageable memory and synchronous calls are told, and not the host that they held up") {
  builder b;
  auto const blocked = [&](std::string_view name, memory_kind from) {
    builder one;
    auto const correlation = one.call(name, {0, 210}).correlation;
    one.copy(to_device, 8, {100, 200}, first_stream, correlation).from = from;
    one.launch("k", {215, 220}, {230, 400}, second_stream);
    return obstacles(one.trace);
  };
  CHECK(blocked("cudaMemcpyAsync_v3020", memory_kind::pageable) == list{pageable_memory});
  CHECK(blocked("cudaMemcpy_v3020", memory_kind::pinned) == list{synchronous_call});
  CHECK(blocked("cudaMemcpyAsync_v3020", memory_kind::pinned) == list{host_bound});
  auto const correlation = b.call("cudaMemcpyAsync_v3020", {0, 210}).correlation;
  b.copy(to_device, 8, {100, 200}, first_stream, correlation).from = memory_kind::pageable;
  b.launch("k", {215, 220}, {230, 400}, first_stream);
  auto const both = explain_overlap(view{b.trace});  // neither alone would help
  REQUIRE(both.reasons.size() == 2);
  CHECK((both.reasons[0].exposed_ns == 100 && both.reasons[0].alone_ns == 0));
}

TEST_CASE("a host that waits in between keeps streams apart") {
  builder b;
  b.launch("k", {0, 10}, {20, 500}, first_stream);
  b.call("cudaStreamSynchronize_v3020", {12, 510});
  b.launch_copy(to_device, 8, {515, 520}, {530, 600}, second_stream);
  b.launch("k", {522, 525}, {610, 700}, second_stream);  // needs the copy: in its stream
  auto const found = explain_overlap(view{b.trace});
  REQUIRE(found.reasons.size() == 1);
  CHECK(found.reasons[0].what == sync_between);
  CHECK(b.trace.strings[found.reasons[0].call] == "cudaStreamSynchronize_v3020");
  CHECK((found.reasons[0].copy == 0 && found.reasons[0].kernel == 0));
}

TEST_CASE("a host that is late for no recorded reason is told so") {
  builder b;
  b.launch("k", {0, 10}, {20, 500}, first_stream);
  b.call("cudaStreamSynchronize_v3020", {12, 100});  // over long before the kernel's middle
  b.launch_copy(to_device, 8, {515, 520}, {530, 600}, second_stream);
  CHECK(obstacles(b.trace) == list{host_bound});
  auto const found = explain_overlap(view{b.trace});
  CHECK(b.trace.strings[found.reasons[0].call] == "cudaMemcpyAsync_v3020");
}

TEST_CASE("a stream that waits for an event, and one that waits for a copy engine") {
  builder b;
  b.launch("k", {0, 10}, {20, 500}, first_stream);
  b.sync(sync_kind::stream_wait, {11, 12}, second_stream);
  b.launch_copy(to_device, 8, {13, 15}, {510, 600}, second_stream);
  CHECK(obstacles(b.trace) == list{waits_for_event});
  builder e;
  e.launch("k", {0, 10}, {20, 500}, first_stream);
  e.launch_copy(to_device, 8, {10, 12}, {30, 505}, {0, 15, 1});
  e.launch_copy(to_device, 8, {13, 15}, {510, 600}, second_stream);
  auto const found = obstacles(e.trace);
  CHECK(std::count(found.begin(), found.end(), copy_engine) == 1);
  e.trace.copies[0].where.stream = second_stream.stream;  // its own stream's turn, not the engine's
  auto const own = obstacles(e.trace);
  CHECK(std::count(own.begin(), own.end(), copy_engine) == 0);
  e.trace.copies[0].where.stream = 15;
  e.trace.copies[0].kind = copy_kind::device_to_host;  // another engine's
  auto const other = obstacles(e.trace);
  CHECK(std::count(other.begin(), other.end(), copy_engine) == 0);
  CHECK(std::count(other.begin(), other.end(), unknown) == 1);
}

TEST_CASE("the legacy default stream waits for all others") {
  builder b;
  b.launch("k", {0, 10}, {20, 500}, first_stream);
  b.launch_copy(to_device, 8, {10, 12}, {510, 600}, {0, 7, 1});
  CHECK(obstacles(b.trace) == list{default_stream});
  b.trace.copies[0].where.stream = 21;
  CHECK(obstacles(b.trace) == list{unknown});
}

TEST_CASE("a copy that is partly hidden is exposed for the rest, and empty ones are nothing") {
  builder b;
  b.launch("k", {0, 10}, {20, 150}, first_stream);
  b.launch_copy(to_device, 8, {10, 12}, {100, 200}, second_stream);
  b.copy(to_device, 0, {300, 300}, second_stream);
  b.copy(to_device, 0, {400, 300}, second_stream);
  auto const found = explain_overlap(view{b.trace});
  CHECK(found.exposed_ns() == 50);
  REQUIRE(found.reasons.size() == 1);
  CHECK((found.reasons[0].exposed_ns == 50 && found.reasons[0].copies == 1));
  CHECK(explain_overlap(select(b.trace, {.range = "none"})).reasons.empty());
  model const empty;
  CHECK(explain_overlap(view{empty}).devices.empty());
}
