// SPDX-License-Identifier: Apache-2.0

// assay-uses: cupti

#include "catch.hpp"
#include "device_array.hpp"
#include "support/known_kernels.cuh"

#include <assay/core/stream.hpp>
#include <assay/cupti/counters.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/machine/memory_scrub.hpp>
#include <assay/trace/bound.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

using namespace assay;
using assay::test::message_of;

namespace {

constexpr on::device place{0};

/// Whether counters can be read here. Where they cannot, that is all there is to test, and the
/// program counts as skipped, with the reason. Under a sanitizer sizes are too small to count.
bool readable() {
  static bool const can = [] {
    trace::counters probe;
    auto ran = false;
    auto const got = probe.measure([&] { ran = true; });
    auto const& status = got.status;
    if (status) { return !assay::test::small(); }
    REQUIRE(!status.reason.empty());
    REQUIRE(status.line().find('\n') == std::string::npos);
    REQUIRE(!ran);
    REQUIRE(got.ranges.empty());
    check(cudaDeviceSynchronize());  // the rest of the program goes on
    std::printf("skipped: no hardware counters: %s\n", status.line().c_str());
    if (!assay::test::small()) { std::exit(77); }  // ctest's SKIP_RETURN_CODE
    return false;
  }();
  return can;
}

/// A copy so much larger than the L2 cache that what stays in it is less than 1 % of all.
class large_copy {
 public:
  large_copy() : from_(count()), to_(count()) {
    check(cudaMemset(from_.get(), 0x5a, count() * sizeof(uint4)));
  }
  void operator()(int times = 1) const {
    auto const shape = kernel::stride_shape(kernel::known_copy<uint4>, place, count(), threads);
    for (int i = 0; i < times; ++i) {
      kernel::launch(kernel::known_copy<uint4>, shape, 0, on_, from_.get(), to_.get(),
                     static_cast<std::int64_t>(count()));
    }
  }
  double bytes() const { return 2.0 * sizeof(uint4) * static_cast<double>(count()); }
  double seconds(int times) const {
    event begin{event::kind::timed};
    event end{event::kind::timed};
    begin.record(on_);
    (*this)(times);
    end.record(on_);
    end.synchronize();
    return end.seconds_since(begin);
  }

 private:
  static constexpr unsigned threads = 512;
  static std::size_t count() {
    constexpr std::size_t times_the_cache = 64;
    auto const l2 = static_cast<std::size_t>(attribute(place, cudaDevAttrL2CacheSize));
    return (assay::test::small() ? std::size_t{1} << 16U : times_the_cache * l2) / sizeof(uint4);
  }
  stream on_{place};
  examples::device_array<uint4> from_;
  examples::device_array<uint4> to_;
};

trace::counter_values measured(trace::counters& with, auto const& run) {
  auto const got = with.measure(run);
  INFO(got.status.line());
  REQUIRE(got.status);
  return got;
}

double dram_bytes(trace::counter_range const& range) {
  return range[trace::metric::dram_read] + range[trace::metric::dram_write];
}

/// Waits for what a program before this one may have freed: clearing it takes a part of DRAM's
/// rate.
void wait_for_cleared_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  std::this_thread::sleep_for(std::chrono::duration<double>(machine::clearing_seconds(total)));
}

bool near(double value, double expected, double share) {
  return std::abs(value - expected) <= share * std::abs(expected);
}

}  // namespace

TEST_CASE("a copy far beyond the L2 cache moves through DRAM what it must, within 2 %") {
  if (!readable()) { return; }
  large_copy const copy;
  trace::counters counters{{.place = place}};
  wait_for_cleared_memory();
  copy();
  auto const got = measured(counters, [&] { copy(); });
  CHECK(got.passes == 1);
  CHECK(got.device == 0);
  CHECK(!got.chip.empty());
  REQUIRE(got.ranges.size() == 1);
  auto const& all = got.ranges[0];
  INFO(got.chip << ": DRAM " << dram_bytes(all) << " bytes, must move " << copy.bytes());
  if (got.dropped.empty()) {
    CHECK(near(dram_bytes(all), copy.bytes(), 0.02));
    CHECK(near(all[trace::metric::dram_read], copy.bytes() / 2, 0.02));
    CHECK(near(all[trace::metric::dram_write], copy.bytes() / 2, 0.02));
  } else {
    for (auto const& each : got.dropped) {
      WARN("not counted: " << each.asked << ": " << each.why);
    }
  }
  CHECK(all[trace::metric::l2_bytes] >= copy.bytes());
  INFO("SM clock " << all.sm_hertz());
  CHECK(all.sm_hertz() > 0.2e9);
  CHECK(all.sm_hertz() < 4e9);
  // Against what the copy reaches without counters: of DRAM's peak on paper that is about the share
  // from which on it counts as used up.
  constexpr int times = 20;
  auto const reached = times * copy.bytes() / copy.seconds(times);
  auto const of =
      trace::find_bound(all, {.required = {.bytes_read = copy.bytes()}}, {.dram_bytes = reached});
  INFO("reached " << reached << " bytes/s; " << of.reason);
  CHECK(of.limit == trace::bound::memory);
}

TEST_CASE("the duration of a range is that of its kernels, within 5 %") {
  if (!readable()) { return; }
  large_copy const copy;
  constexpr int times = 20;  // some 40 ms, against which draining the device is nothing
  (void)copy.seconds(times);
  auto const expected = copy.seconds(times);
  trace::counters counters{{.metrics = {std::string{trace::metric::gpu_time}}}};
  auto const got = measured(counters, [&] { copy(times); });
  auto const seconds = got.ranges.at(0)[trace::metric::gpu_time] * 1e-9;
  INFO("counters " << seconds << " s, events " << expected << " s");
  CHECK(near(seconds, expected, 0.05));
}

TEST_CASE("achieved occupancy is that of the blocks that fit") {
  if (!readable()) { return; }
  constexpr unsigned threads = 256;
  auto const spin = kernel::known_spin<long long>;
  auto const entry = reinterpret_cast<void const*>(spin);
  int const per_sm_bytes = attribute(place, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  auto const shared = static_cast<std::size_t>(per_sm_bytes / 2 - 4096);  // so that two blocks fit
  check(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared)));
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, entry, threads, shared));
  REQUIRE(blocks >= 1);
  int const warps = attribute(place, cudaDevAttrMaxThreadsPerMultiProcessor) / 32;
  auto const expected = blocks * (threads / 32.0) / warps;
  REQUIRE(expected < 0.75);  // else nothing is limited
  auto const sms = static_cast<unsigned>(attribute(place, cudaDevAttrMultiProcessorCount));
  stream const on{place};
  trace::counters counters{{.metrics = {std::string{trace::metric::occupancy}}}};
  auto const got = measured(counters, [&] {
    constexpr long long cycles = 2'000'000;  // 1 ms, against which blocks start at once
    kernel::launch(spin, dim3(sms * static_cast<unsigned>(blocks)), dim3(threads), shared, on,
                   cycles);
  });
  auto const counted = got.ranges.at(0)[trace::metric::occupancy] / 100;
  INFO("expected " << expected << ", counted " << counted);
  CHECK(near(counted, expected, 0.02));
}

TEST_CASE("the same work counts the same, by the same object and by one made anew") {
  if (!readable()) { return; }
  large_copy const copy;
  std::optional<trace::counters> counters{std::in_place};
  trace::counter_options options;
  options.metrics.emplace_back("smsp__inst_executed.sum");
  auto const take = [&] { return measured(*counters, [&] { copy(); }).ranges.at(0); };
  counters.emplace(options);
  auto const first = take();
  auto const second = take();
  counters.reset();
  counters.emplace(options);
  auto const third = take();
  for (auto const* const other : {&second, &third}) {
    CHECK(near(dram_bytes(*other), dram_bytes(first), 0.01));
    // The loops of the kernel depend on no data.
    CHECK(near((*other)["smsp__inst_executed.sum"], first["smsp__inst_executed.sum"], 1e-3));
    CHECK(near((*other)[trace::metric::occupancy], first[trace::metric::occupancy], 0.05));
  }
}

TEST_CASE("the deep set runs the work once for each pass, and tells a copy from one block") {
  if (!readable()) { return; }
  large_copy const copy;
  stream const on{place};
  int runs = 0;
  trace::counters counters{{.metrics = trace::metric_sets::deep(), .warm_up = 2}};
  auto const moved = measured(counters, [&] {
    ++runs;
    copy();
  });
  CHECK(moved.passes >= 2);
  CHECK(runs == static_cast<int>(moved.passes) + 2);
  auto const spun = measured(counters, [&] {
    kernel::launch(kernel::known_spin<long long>, dim3(1), dim3(32), 0, on, 2'000'000LL);
  });
  for (auto const* got : {&moved, &spun}) {
    for (auto const& each : got->ranges.at(0).values) {
      INFO(each.metric << " " << each.value);
      CHECK(!std::isnan(each.value));
    }
  }
  // By the rate of this very copy: of a peak on paper it takes four fifths, more or less.
  trace::ceilings limits;
  limits.dram_bytes = copy.bytes() / copy.seconds(1);
  auto const first = trace::find_bound(moved.ranges[0], {}, limits);
  auto const second = trace::find_bound(spun.ranges[0], {}, limits);
  INFO(first.reason << ", " << second.reason);
  CHECK(first.dram_bytes > 20 * second.dram_bytes);
  CHECK(first.limit == trace::bound::memory);
  CHECK(second.limit == trace::bound::tail);  // one SM of all
}

TEST_CASE("each kernel can have values of its own, and then the work runs once") {
  if (!readable()) { return; }
  large_copy const copy;
  int runs = 0;
  trace::counters counters{{.scope = trace::counter_scope::kernel, .warm_up = 0}};
  auto const got = measured(counters, [&] {
    ++runs;
    copy(3);
  });
  CHECK(runs == 1);
  REQUIRE(got.ranges.size() == 3);
  auto const expected = copy.seconds(1);
  for (auto const& range : got.ranges) {
    INFO(range.name << " " << range[trace::metric::gpu_time] << " ns, events " << expected << " s");
    CHECK(near(dram_bytes(range), copy.bytes(), 0.02));
    CHECK(near(range[trace::metric::gpu_time] * 1e-9, expected, 0.1));
  }
}

TEST_CASE("more kernels than there is room for are not lost in silence") {
  if (!readable()) { return; }
  stream const on{place};
  for (int const kernels : {2, 3, 5}) {
    trace::counters counters{
        {.scope = trace::counter_scope::kernel, .warm_up = 0, .max_kernels = 2}};
    auto const got = counters.measure([&] {
      for (int i = 0; i < kernels; ++i) {
        kernel::launch(kernel::known_spin<long long>, dim3(1), dim3(32), 0, on, 1000LL);
      }
    });
    INFO(kernels << " kernels: " << got.ranges.size() << " counted, " << got.ranges_lost
                 << " lost, " << got.status.line());
    if (!got.status) {  // CUPTI may also refuse the third: then it is said
      CHECK(kernels > 2);
      CHECK(!got.status.reason.empty());
      continue;
    }
    CHECK(got.ranges.size() == 2);
    // CUPTI does not count all that it passes over, so that this is one at least.
    if (kernels == 2) { CHECK(got.ranges_lost == 0); }
    if (kernels > 2) { CHECK(got.ranges_lost >= 1); }
    std::printf("%d kernels, room for 2: %zu counted, %zu lost\n", kernels, got.ranges.size(),
                got.ranges_lost);
  }
}

TEST_CASE("what the work throws is passed on, and the counters can be used again") {
  if (!readable()) { return; }
  stream const on{place};
  trace::counters counters;
  CHECK(message_of([&] { counters.measure([] { throw std::runtime_error("no luck"); }); }) ==
        "no luck");
  CHECK(counters.status());
  auto const got = measured(counters, [&] {
    kernel::launch(kernel::known_spin<long long>, dim3(1), dim3(32), 0, on, 100'000LL);
  });
  CHECK(got.ranges.size() == 1);
}

TEST_CASE("metrics that nobody has are named, and the others are counted") {
  if (!readable()) { return; }
  stream const on{place};
  trace::counters counters{{.metrics = {"sm__no_such_thing.sum", "smsp__inst_executed.sum"}}};
  auto const got = measured(counters, [&] {
    kernel::launch(kernel::known_spin<long long>, dim3(1), dim3(32), 0, on, 100'000LL);
  });
  REQUIRE(got.dropped.size() == 1);
  CHECK(got.dropped[0].asked == "sm__no_such_thing.sum");
  CHECK(got.ranges.at(0)["smsp__inst_executed.sum"] > 100);
}
