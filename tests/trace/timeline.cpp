// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "golden.hpp"

#include <assay/trace/idle.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/overlap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

using namespace assay::trace;
using namespace assay::test::golden;

namespace {

constexpr std::int64_t moments = 128;
using bitmap = std::vector<int>;  // how many intervals cover each moment

bitmap paint(std::vector<span> const& all) {
  bitmap map(moments, 0);
  for (auto const& each : all) {
    for (auto at = each.begin; at < each.end; ++at) { ++map[static_cast<std::size_t>(at)]; }
  }
  return map;
}

/// Whether a set covers just the moments for which `covered` holds, in its normal form.
template <class Covered>
void is(interval_set const& set, Covered&& covered) {
  std::int64_t length = 0;
  auto const map = paint(set.parts());
  for (std::size_t at = 0; at < moments; ++at) {
    REQUIRE(map[at] == (covered(at) ? 1 : 0));
    length += covered(at) ? 1 : 0;
  }
  REQUIRE(set.length() == length);
  for (std::size_t i = 0; i < set.parts().size(); ++i) {
    REQUIRE(set.parts()[i].length() > 0);
    if (i > 0) { REQUIRE(set.parts()[i - 1].end < set.parts()[i].begin); }
  }
}

std::vector<idle_gap> gaps(model const& of, gap_scope scope) {
  std::vector<idle_gap> all;
  each_gap(of, scope, [&](idle_gap const& gap) { all.push_back(gap); });
  return all;
}
std::vector<idle_gap> device_gaps(model const& of) { return gaps(of, gap_scope::device); }

}  // namespace

TEST_CASE("random sets of time are what a bitmap says") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 400; ++round) {
    auto const some = [&] {
      std::vector<span> all(random() % 12);
      for (auto& each : all) {
        each.begin = static_cast<std::int64_t>(random() % (moments - 30));
        each.end = each.begin + static_cast<std::int64_t>(random() % 30) - 3;  // some backwards
        if (each.end < 0) { each.end = 0; }
      }
      return all;
    };
    auto const first = some();
    auto const second = some();
    interval_set const a{first};
    interval_set const b{second};
    auto const in_a = paint(first);
    auto const in_b = paint(second);
    is(a, [&](std::size_t at) { return in_a[at] > 0; });
    is(a & b, [&](std::size_t at) { return in_a[at] > 0 && in_b[at] > 0; });
    is(a | b, [&](std::size_t at) { return in_a[at] > 0 || in_b[at] > 0; });
    span const part{static_cast<std::int64_t>(random() % 60),
                    static_cast<std::int64_t>(random() % moments)};
    REQUIRE(a.length_within(part) == (a & interval_set{{part}}).length());
    std::vector<span> outside;
    a.each_outside(part, [&](span each) { outside.push_back(each); });
    auto const in_part = paint({part});
    is(interval_set{outside}, [&](std::size_t at) { return in_part[at] > 0 && in_a[at] == 0; });
    REQUIRE(interval_set{outside}.parts() == outside);
    auto in_order = first;
    std::ranges::sort(in_order, {}, &span::begin);
    covered_time covered;
    for (auto const& each : in_order) { covered.add(each); }
    REQUIRE(covered.length() == a.length());
    std::vector<std::pair<span, std::size_t>> merged;
    for (auto const& each : first) { merged.emplace_back(each, 0); }
    for (auto const& each : second) { merged.emplace_back(each, 1); }
    std::ranges::stable_sort(merged, {}, [](auto const& each) { return each.first.begin; });
    shared_time shared;
    for (auto const& [when, to] : merged) { shared.add(to, when); }
    REQUIRE(shared.length() == (a & b).length());
    auto const depths = time_at_depth(first);
    std::vector<std::int64_t> expected(1, 0);
    for (auto at = a.extent().begin; at < a.extent().end; ++at) {
      auto const depth = static_cast<std::size_t>(in_a[static_cast<std::size_t>(at)]);
      if (depth >= expected.size()) { expected.resize(depth + 1, 0); }
      ++expected[depth];
    }
    REQUIRE(depths == expected);
  }
}

TEST_CASE("sets of time are half-open, and empty or backward intervals are not in them") {
  CHECK(interval_set{{{5, 10}, {10, 12}}}.parts() == std::vector<span>{{5, 12}});
  CHECK(interval_set{{{5, 5}, {9, 3}}}.parts().empty());
  CHECK((interval_set{{{0, 5}}} & interval_set{{{5, 9}}}).parts().empty());
  CHECK(interval_set{}.length() == 0);
  CHECK(interval_set{}.extent() == span{});
  CHECK(time_at_depth({}) == std::vector<std::int64_t>{0});
}

TEST_CASE("an idle device is told why") {
  builder b;
  b.launch("first", {0, 10}, {20, 100});
  // asked for at 150, when the device had been idle since 100: 80 ns until it starts
  b.launch("late", {150, 160}, {180, 200});
  // asked for in time; its stream waits for an event
  b.sync(sync_kind::stream_wait, {165, 168});
  b.launch("waits", {170, 175}, {230, 300});
  // asked for in time, and next in its stream
  b.launch("next", {180, 190}, {310, 400});
  // its call was made by a thread that the tracer held up for 15 of 50
  b.cost("Buffer request", {410, 425});
  b.cost("Buffer request", {405, 450}, second_thread);
  b.launch("traced", {430, 440}, {450, 500});
  // the tracer held it up all the time
  b.cost("Flush", {495, 520});
  b.launch("flushed", {505, 508}, {510, 600});
  b.kernel("nobody asked", {650, 700});
  auto const gaps = device_gaps(b.trace);
  REQUIRE(gaps.size() == 6);
  CHECK((gaps[0].when == span{100, 180} && gaps[0].cause == idle_cause::host_bound));
  CHECK((gaps[1].when == span{200, 230} && gaps[1].cause == idle_cause::dependency));
  CHECK((gaps[2].when == span{300, 310} && gaps[2].cause == idle_cause::stream_order));
  CHECK((gaps[3].cause == idle_cause::host_bound && gaps[3].tracer_ns == 15));
  CHECK((gaps[4].cause == idle_cause::tracer && gaps[4].tracer_ns == 10));
  CHECK((gaps[5].cause == idle_cause::other && gaps[5].call == no_row));
  CHECK(gaps[1].call == 2);
  auto const times = device_times(b.trace);
  REQUIRE(times.size() == 1);
  CHECK(times[0].extent == span{20, 700});
  CHECK(times[0].busy_ns == 80 + 20 + 70 + 90 + 50 + 90 + 50);
  CHECK(times[0].idle(idle_cause::host_bound) == 80 + 35);
  CHECK(times[0].idle(idle_cause::dependency) == 30);
  CHECK(times[0].idle(idle_cause::tracer) == 25);
  CHECK(times[0].idle(idle_cause::stream_order) == 10);
  CHECK(times[0].idle(idle_cause::other) == 50);
  CHECK(times[0].idle() == 230);
}

TEST_CASE("a kernel whose call had not returned was late; a blocking copy was not for that") {
  builder b;
  b.launch("a", {0, 10}, {20, 100});
  b.launch("b", {90, 125}, {120, 200});  // launching took longer than what it launched after
  auto const gaps = device_gaps(b.trace);
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].cause == idle_cause::host_bound);
  builder blocking;
  blocking.launch("a", {0, 10}, {20, 100});
  blocking.launch_copy(copy_kind::device_to_host, 8, {50, 300}, {110, 290});
  CHECK(device_gaps(blocking.trace)[0].cause == idle_cause::stream_order);
  builder begun;  // blocking, and begun inside the gap
  begun.launch("a", {0, 10}, {20, 100});
  begun.launch_copy(copy_kind::device_to_host, 8, {105, 300}, {110, 290});
  CHECK(device_gaps(begun.trace)[0].cause == idle_cause::host_bound);
  builder handed;  // the call returned inside the gap: only then the copy could start
  handed.launch("a", {0, 10}, {20, 100});
  handed.launch_copy(copy_kind::host_to_device, 8, {50, 105}, {110, 290});
  CHECK(device_gaps(handed.trace)[0].cause == idle_cause::host_bound);
}

TEST_CASE("a wait counts for the next work of its stream only") {
  builder b;
  b.launch("a", {0, 5}, {20, 100}, {0, 7});
  b.sync(sync_kind::stream_wait, {6, 7}, {0, 7});
  b.launch("b", {8, 9}, {120, 200}, {0, 7});    // waited
  b.launch("c", {10, 11}, {220, 300}, {0, 7});  // the wait was before b: none for c
  b.launch("d", {12, 13}, {320, 400}, {0, 8});  // another stream
  auto const gaps = device_gaps(b.trace);
  REQUIRE(gaps.size() == 3);
  CHECK(gaps[0].cause == idle_cause::dependency);
  CHECK(gaps[1].cause == idle_cause::stream_order);
  CHECK(gaps[2].cause == idle_cause::other);
}

TEST_CASE("work that was asked for in time and starts long after the last of its stream") {
  constexpr auto longest = max_start_delay_ns;
  builder b;
  b.launch("a", {0, 10}, {20, 100}, {0, 7});
  b.launch("b", {11, 12}, {100 + longest, 200 + longest}, {0, 7});
  b.launch("c", {13, 14}, {201 + 2 * longest, 300 + 2 * longest}, {0, 7});
  // Its stream's last work ended before that of another, which leaves the rest of its turn idle.
  b.launch("d", {15, 16}, {250 + 2 * longest, 310 + 2 * longest}, {0, 8});
  b.launch("e", {17, 18}, {320 + 2 * longest, 400 + 2 * longest}, {0, 7});
  auto const gaps = device_gaps(b.trace);
  REQUIRE(gaps.size() == 3);
  CHECK(gaps[0].cause == idle_cause::stream_order);
  CHECK(gaps[1].cause == idle_cause::other);
  CHECK((gaps[2].when == span{310 + 2 * longest, 320 + 2 * longest}));
  CHECK(gaps[2].cause == idle_cause::stream_order);
}

TEST_CASE("a device is busy for as long as its longest work") {
  builder b;
  b.kernel("long", {0, 100}, {0, 7});
  b.kernel("short", {10, 20}, {0, 8});
  b.kernel("last", {50, 130}, {0, 9});
  b.kernel("after", {140, 150}, {0, 9});
  auto const gaps = device_gaps(b.trace);
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].when == span{130, 140});
}

TEST_CASE("devices and streams have gaps of their own") {
  builder b;
  b.kernel("a", {0, 10}, {0, 7});
  b.kernel("a", {10, 20}, {0, 8});
  b.kernel("a", {30, 40}, {0, 7});
  b.kernel("a", {5, 35}, {1, 7, 2});
  b.kernel("a", {50, 60}, {1, 7, 2});
  b.kernel("backwards", {70, 65}, {1, 7, 2});
  auto const devices = device_gaps(b.trace);
  REQUIRE(devices.size() == 3);
  CHECK((devices[0].when == span{20, 30} && devices[0].stream.device == 0));
  CHECK((devices[1].when == span{35, 50} && devices[1].stream.device == 1));
  CHECK(devices[2].when == span{60, 70});
  auto const streams = gaps(b.trace, gap_scope::stream);
  REQUIRE(streams.size() == 3);
  CHECK((streams[0].when == span{10, 30} && streams[0].stream.stream == 7));
  CHECK(streams[1].when == span{35, 50});
  auto const times = device_times(b.trace);
  REQUIRE(times.size() == 2);
  CHECK((times[0].busy_ns == 30 && times[0].idle() == 10));
}

TEST_CASE("overlap of copies, kernels and communication, device by device") {
  builder b;
  b.kernel("gemm", {100, 200});
  b.kernel("gemm", {150, 250}, {0, 8});
  b.kernel("ncclDevKernel_AllReduce", {240, 300}, {0, 9});
  b.copy(copy_kind::host_to_device, 3000, {50, 120}, {0, 13});   // 20 beside kernels
  b.copy(copy_kind::host_to_device, 1000, {110, 130}, {0, 14});  // so 30 of 80 in all
  b.copy(copy_kind::device_to_host, 500, {90, 95}, {0, 15});     // beside the copy to the device
  b.copy(copy_kind::peer_to_peer, 700, {320, 330}, {0, 16});
  b.copy(copy_kind::device_to_device, 1, {400, 400}, {0, 16});
  b.kernel("gemm", {0, 10}, {1, 7, 2});
  auto const all = overlap(b.trace);
  REQUIRE(all.size() == 2);
  auto const& first = all[0];
  CHECK(first.kernels_ns == 200);
  CHECK(first.copies_ns == 90);
  CHECK(first.copies_hidden_ns == 30);
  CHECK(first.copies_exposed_ns() == 60);
  CHECK(first.duplex_ns == 5);
  CHECK(first.compute_ns == 150);
  CHECK(first.communication_ns == 70);
  CHECK(first.communication_hidden_ns == 10);
  CHECK(first.communication_ns - first.communication_hidden_ns == 60);
  CHECK(first.use(copy_direction::to_device) ==
        direction_overlap{.count = 2, .bytes = 4000, .busy_ns = 80, .hidden_ns = 30});
  CHECK(first.use(copy_direction::to_device).gigabytes_per_second() == 50);
  CHECK(first.use(copy_direction::within_device).gigabytes_per_second() == 0);
  CHECK(first.kernels_at_once == std::vector<std::int64_t>{0, 140, 60});
  CHECK(first.mean_kernels_at_once == Approx(1.3));
  CHECK((all[1].device == 1 && all[1].kernels_ns == 10 && all[1].copies_ns == 0));
  model const empty;
  CHECK(overlap(empty).empty());
}
