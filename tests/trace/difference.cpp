// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "golden.hpp"
#include "one_pair.hpp"

#include <assay/nsys/range_tables.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/trace/difference.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

using namespace assay;
using namespace assay::test::golden;
using assay::test::contains;
using assay::test::difference;

namespace {

double total(time_breakdown const& of) {
  double sum = 0;
  for (auto const& [key, each] : of) { sum += each.ns; }
  return sum;
}

/// The time for which devices waited for the host, by the breakdown.
double waits_for_host(time_breakdown const& devices) {
  double sum = 0;
  for (auto const& [key, each] : devices) {
    auto const late =
        key.first == entry_kind::idle && key.second == to_string(idle_cause::host_bound);
    if (late || key.first == entry_kind::edge) { sum += each.ns; }
  }
  return sum;
}

change const& find(trace_difference const& in, std::string_view name) {
  for (auto const& each : in.changes) {
    if (each.name == name) { return each; }
  }
  FAIL("no change is called " << name);
  return in.changes.front();
}

/// Two items of one thread: a kernel each; in the slow one, an allocation with a mutex inside keeps
/// the device waiting for 400 ns more, the kernels take 50 more each, and a copy is not hidden.
model items(bool slow) {
  builder b;
  b.launch("gemm", {0, 100}, {100, slow ? 650 : 600}, {0, 13});
  if (slow) {
    b.call("cudaMalloc_v3020", {100, 1000});
    b.range("lock wait", {200, 350}, main_thread, "assay");
  }
  auto const begin = slow ? 1000 : 600;
  b.launch("gemm", {begin, begin + 50}, {begin + 100, begin + 600 + (slow ? 50 : 0)}, {0, 13});
  b.copy(copy_kind::host_to_device, 500, slow ? span{660, 760} : span{300, 400}, {0, 14});
  return b.trace;
}

}  // namespace

TEST_CASE("the device's breakdown gives each moment to what ran then, else to why nothing did") {
  builder b;
  b.call("cudaLaunchKernel_v7000", {0, 10}, main_thread, 5);
  b.kernel("a", {100, 200}, {0, 7}, 5);
  b.kernel("b", {150, 250}, {1, 7, 2});  // 50 together, shared evenly
  b.copy(copy_kind::host_to_device, 64, {240, 300}, {0, 8});
  b.copy(copy_kind::device_to_host, 32, {280, 310}, {0, 9});  // 20 together
  b.set(16, {305, 320});
  b.kernel("a", {400, 410});
  b.call("cudaDeviceSynchronize_v3020", {10, 500});
  auto const found = device_time_breakdown(b.trace);
  CHECK(found.at({entry_kind::kernel, "a"}) == breakdown_entry{75 + 10, 2, 0});
  CHECK(found.at({entry_kind::kernel, "b"}) == breakdown_entry{75, 1, 0});
  CHECK(found.at({entry_kind::copy, "Host-to-Device"}) == breakdown_entry{30 + 10, 1, 64});
  CHECK(found.at({entry_kind::copy, "Device-to-Host"}).ns == 10 + 5 + 2.5);
  CHECK(found.at({entry_kind::memset, "[CUDA memset]"}) == breakdown_entry{2.5 + 10, 1, 16});
  CHECK(found.at({entry_kind::idle, "other"}) == breakdown_entry{80, 1, 0});
  CHECK(found.at({entry_kind::edge, "before the first device work"}).ns == 100);
  CHECK(found.at({entry_kind::edge, "after the last device work"}).ns == 90);
  CHECK(total(found) == 500);
}

TEST_CASE("breakdowns of random traces leave nothing out") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  double waited = 0;
  for (std::uint64_t round = 0; round < 50; ++round) {
    auto const trace = random_model(seed + round, 5 + round);
    auto const extent = static_cast<double>(run_extent(trace).length());
    auto const devices = device_time_breakdown(trace);
    REQUIRE(total(devices) == Approx(extent).epsilon(1e-9));
    REQUIRE(total(breakdown_of(trace).parts) == Approx(extent).epsilon(1e-9));
    auto const late = total(host_wait_breakdown(trace));
    REQUIRE(late == Approx(waits_for_host(devices)).epsilon(1e-9));
    waited += late;
  }
  CHECK(waited > 0);
}

TEST_CASE("what a device waited for is what the thread was in that asked late") {
  builder b;
  b.launch("k", {0, 100}, {150, 200});
  b.call("cudaMalloc_v3020", {180, 300});
  b.range("lock wait", {220, 240}, main_thread, "assay");
  b.call("cudaFree_v3020", {200, 380}, second_thread);  // nobody waits for it
  b.trace.overheads.push_back({.when = {310, 320}, .thread = main_thread});
  b.launch("k", {350, 370}, {400, 500});
  b.launch("k", {360, 380}, {500, 600}, {0, 13});
  b.call("cudaDeviceSynchronize_v3020", {380, 640});
  auto const found = host_wait_breakdown(b.trace);
  // The allocation took 20 while the device had work: without them, no launch would have been late.
  CHECK(found.at({entry_kind::call, "cudaLaunchKernel"}) == breakdown_entry{100, 1, 0});
  CHECK(found.at({entry_kind::call, std::string{on_its_way}}) == breakdown_entry{50 + 30, 2, 0});
  CHECK(found.at({entry_kind::allocation, "cudaMalloc"}) == breakdown_entry{20 + 60 + 20, 1, 0});
  CHECK(found.at({entry_kind::lock, "lock wait"}) == breakdown_entry{20, 1, 0});
  CHECK(found.at({entry_kind::host_code, "between the calls"}).ns == 10 + 30);
  CHECK(found.at({entry_kind::waiting, "cudaDeviceSynchronize"}).ns == 40);
  CHECK(found.size() == 6);
  CHECK(total(found) == waits_for_host(device_time_breakdown(b.trace)));
}

TEST_CASE("a launch that waits for another thread's allocation counts for the allocation") {
  auto const of = [](std::string_view other, thread_key who = second_thread) {
    builder b;
    b.launch("k", {0, 10}, {20, 30});
    b.launch("k", {40, 52}, {60, 70});  // 10 to 12 are usual
    b.call(other, {80, 170}, who);
    b.launch("k", {90, 190}, {200, 210});  // waits till 170
    b.call("cudaDeviceSynchronize_v3020", {200, 210});
    auto found = host_wait_breakdown(b.trace);
    CHECK(total(found) == waits_for_host(device_time_breakdown(b.trace)));
    return found;
  };
  auto const found = of("cudaMallocFromPoolAsync_v11020");
  CHECK(found.at({entry_kind::allocation, "cudaMallocFromPoolAsync"}) ==
        breakdown_entry{170 - 90, 1, 0});
  CHECK(found.at({entry_kind::call, "cudaLaunchKernel"}).ns == 10 + 12 + 20);
  // Other calls, other processes, and launches that take no longer than usual.
  CHECK(of("cudaEventRecord_v3020").at({entry_kind::call, "cudaLaunchKernel"}).ns == 10 + 12 + 100);
  CHECK(of("cudaFree_v3020", {7, 7}).at({entry_kind::call, "cudaLaunchKernel"}).ns ==
        10 + 12 + 100);
  // Only launches wait for allocations: another call may be long by itself.
  builder beside;
  beside.launch("k", {0, 10}, {20, 30});
  beside.call("cudaMalloc_v3020", {40, 60}, second_thread);
  beside.call("cudaGraphInstantiate_v12000", {40, 540});
  beside.call("cudaMalloc_v3020", {70, 530}, second_thread);
  beside.launch("k", {540, 550}, {560, 570});
  CHECK(host_wait_breakdown(beside.trace).at({entry_kind::call, "cudaGraphInstantiate"}).ns == 500);
  // Where each launch waits, its last 10 us are its own: there, no other call ends later.
  builder all_wait;
  for (std::int64_t at = 0; at < 1'000'000; at += 200'000) {
    all_wait.call("cudaFree_v3020", {at, at + 150'000}, second_thread);
    all_wait.launch("k", {at + 50'000, at + 160'000}, {at + 170'000, at + 180'000});
  }
  auto const waited = host_wait_breakdown(all_wait.trace);
  CHECK(waited.at({entry_kind::allocation, "cudaFree"}).ns == 5 * 100'000);
  CHECK(waited.at({entry_kind::call, "cudaLaunchKernel"}).ns == 5 * 10'000);
  builder b;
  b.launch("k", {0, 10}, {20, 30});
  b.call("cudaFree_v3020", {40, 80}, second_thread);
  b.launch("k", {50, 70}, {80, 90});
  CHECK(host_wait_breakdown(b.trace).at({entry_kind::call, "cudaLaunchKernel"}).ns == 10 + 20);
}

TEST_CASE("a device waits for a lock while a thread that could launch waits for it") {
  builder b;
  b.launch("k", {0, 10}, {20, 100});
  b.range("wait for the mutex", {30, 150}, second_thread, "assay");  // the main thread holds it
  b.range("wait for the mutex", {20, 900}, {100, 102}, "assay");     // of a thread without work
  b.launch("k", {190, 200}, {210, 300});
  b.range("wait for the mutex", {205, 250}, main_thread, "assay");
  b.launch("k", {320, 330}, {340, 400}, {0, 13}, second_thread);
  b.call("cudaDeviceSynchronize_v3020", {330, 400});
  auto const found = host_wait_breakdown(b.trace);
  CHECK(found.at({entry_kind::lock, "wait for the mutex"}) ==
        breakdown_entry{(150 - 100) + (210 - 205), 1, 0});
  CHECK(found.at({entry_kind::host_code, "between the calls"}).ns == 40 + 20);
  CHECK(found.at({entry_kind::call, "cudaLaunchKernel"}).ns == 10 + 10 + 10);
  CHECK(found.at({entry_kind::call, std::string{on_its_way}}).ns == 10 + 5 + 10);
  CHECK(total(found) == waits_for_host(device_time_breakdown(b.trace)));
}

TEST_CASE("a device waits for a lock that one thread takes again and again while others wait") {
  // As recorded of `submit::mutex_lock`: a mutex is not fair, so the other threads launch nothing.
  auto const batch = [](bool for_lock) {
    constexpr thread_key third_thread{100, 102};
    builder b;
    constexpr std::int64_t preparing = 100;
    auto const* const lock = "wait for the mutex";
    std::int64_t at = 10;
    b.call("cudaGetDevice_v3020", {0, at});
    for (int item = 0; item < 3; ++item) {
      if (for_lock) { b.range(lock, {at, at + 2}, main_thread, "assay"); }
      auto const asked = at + preparing;
      b.launch("k", {asked, asked + 5}, {asked + 10, asked + 70}, {0, 13});
      at = asked + 6;
    }
    b.call("cudaStreamSynchronize_v3020", {at, 410}, main_thread);
    for (auto const thread : {second_thread, third_thread}) {
      if (for_lock) { b.range(lock, {11, at}, thread, "assay"); }
      b.call("cudaStreamSynchronize_v3020", {at, 410}, thread);
    }
    b.range("lock wait", {10, 400}, third_thread, "assay");  // of none that launches
    return b.trace;
  };
  auto const with_lock = batch(true);
  auto const without = batch(false);
  auto const locked = host_wait_breakdown(with_lock);
  auto const free = host_wait_breakdown(without);
  // Devices are idle for 46 ns before each of two kernels; the lock is free for the last 4 ns.
  // Nobody could launch the first kernel sooner.
  auto const of = [](time_breakdown const& in, entry_kind what, std::string_view name) {
    auto const at = in.find({what, std::string{name}});
    return at == in.end() ? breakdown_entry{} : at->second;
  };
  CHECK(of(locked, entry_kind::lock, "wait for the mutex") == breakdown_entry{2 + 46 + 42, 3, 0});
  CHECK(of(locked, entry_kind::host_code, between_calls).ns == 98);
  CHECK(of(free, entry_kind::host_code, between_calls).ns == 100 + 2 * 36);
  CHECK(locked.size() == free.size() + 1);
  CHECK(total(locked) == total(free));
}

TEST_CASE("a run without device work waits for the thread whose call ends it") {
  builder b;
  b.call("cudaMalloc_v3020", {0, 60});
  b.call("cudaFree_v3020", {50, 100}, second_thread);
  auto const found = host_wait_breakdown(b.trace);
  CHECK(found.at({entry_kind::allocation, "cudaFree"}).ns == 50);
  CHECK(total(found) == 100);
  model const empty;
  CHECK(host_wait_breakdown(empty).empty());
}

TEST_CASE("a difference is explained by kernels, by the host's calls and by its locks") {
  auto const control = items(false);
  auto const variant = items(true);
  // 1200 ns traced against 1650
  auto const found = difference(control, variant, 450);
  CHECK((found.control_ns == 1200 && found.variant_ns == 1650));
  CHECK(found.tracing_ns() == 0);
  CHECK(find(found, "gemm").delta_ns() == 100);
  auto const& malloc = find(found, "cudaMalloc");
  CHECK((malloc.what == entry_kind::allocation && malloc.variant.count == 1));
  CHECK(malloc.delta_ns() == 240);  // of 750 those in which the device was idle
  // The copy was hidden and is not any more: 100 ns more on the device, and no idle time.
  CHECK(find(found, "Host-to-Device").delta_ns() == 100);
  CHECK(find(found, "other").delta_ns() == 10);  // before the copy, whose call is not known
  CHECK(std::is_sorted(found.changes.begin(), found.changes.end(), [](auto& a, auto& b) {
    return std::abs(a.delta_ns()) > std::abs(b.delta_ns());
  }));
  double all = 0;
  for (auto const& each : found.changes) { all += each.delta_ns(); }
  CHECK(all == 450);
  std::ostringstream out;
  report::csv_table(out, difference_table(found, 1));
  CHECK(out.str() ==
        "Share (%),Delta (ns),Low (ns),High (ns),Control (ns),Variant (ns),Control Count,Variant "
        "Count,Control (MB),Variant (MB),Kind,Name\n"
        "53.3,240,,,0,240,0,1,0.000,0.000,allocation,cudaMalloc\n");
  CHECK(sum_of(entry_kind::idle, found).estimate == 10);
  CHECK(find(difference(variant, control, -450), "cudaMalloc").delta_ns() == -240);
}

TEST_CASE("what tracing added stands apart from what the host did on its own") {
  auto const idle_for = [](std::int64_t more) {
    builder b;
    b.launch("k", {0, 10}, {10, 100});
    b.launch("k", {200 + more, 210 + more}, {210 + more, 300 + more});
    return b.trace;
  };
  auto const found = difference(idle_for(0), idle_for(500), 400);
  CHECK(found.tracing_ns() == 100);
  CHECK(find(found, "between the calls").delta_ns() == 500);
  CHECK(found.changes.size() == 1);
}

TEST_CASE("equal traces differ in nothing, and an empty one is no trouble") {
  auto const one = items(true);
  auto const same = difference(one, one, 0);
  CHECK(same.changes.empty());
  model const empty;
  auto const all = difference(empty, one, 1000);
  CHECK(all.control_ns == 0);
  CHECK(find(all, "gemm").delta_ns() > 0);
  CHECK(difference(empty, empty, 5).tracing_ns() == -5);
}

TEST_CASE("a kernel's name is not taken for a cause") {
  builder a;
  a.launch("host bound", {0, 10}, {10, 100});
  builder b;
  b.launch("host bound", {0, 10}, {10, 200});
  auto const found = difference(a.trace, b.trace, 100);
  REQUIRE(found.changes.size() == 1);
  CHECK(found.changes[0].what == entry_kind::kernel);
  CHECK(found.changes[0].delta_ns() == 100);
}
