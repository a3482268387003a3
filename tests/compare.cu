// SPDX-License-Identifier: Apache-2.0
/// @file
/// The front door on a device: verdicts on known work, and messages that name the variant at fault.
// assay-test-timeout: 1200

#include "catch.hpp"

#include <assay/compare.cuh>
#include <assay/core/stream.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace assay;

namespace {

constexpr unsigned threads = 256;
using enqueue_function = std::function<void(cudaStream_t)>;

/// `steps` dependent multiply-adds in each thread.
__global__ void chain(float* out, int steps) {
  auto const i = blockIdx.x * blockDim.x + threadIdx.x;
  auto x = static_cast<float>(i);
  for (int s = 0; s < steps; ++s) { x = x * 0.5F + 1.0F; }
  out[i] = x;
}

__global__ void spin(long long cycles) {
  auto const begin = clock64();
  while (clock64() - begin < cycles) {}
}

__global__ void double_in_place(float* x, unsigned count) {
  auto const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) { x[i] *= 2; }
}

/// Writes y = 2 x, and a wrong value to one element.
__global__ void double_all_but(float const* x, float* y, unsigned count, unsigned wrong) {
  auto const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) { y[i] = i == wrong ? 77.0F : 2 * x[i]; }
}

__global__ void read_all(float4 const* x, float* out, unsigned count) {
  float sum = 0;
  for (auto i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    sum += x[i].x + x[i].w;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/// Doubles x, whose elements lie between 1 and 2 at first, and counts elements beyond that.
__global__ void mark(float* x, unsigned count, unsigned* again) {
  auto const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) { return; }
  if (x[i] > 2) { atomicAdd(again, 1U); }
  x[i] *= 2;
}

/// A number in the memory of the device, 0 at first.
class device_counter {
 public:
  device_counter() {
    check(cudaMalloc(&at_, sizeof(unsigned)));
    check(cudaMemset(at_, 0, sizeof(unsigned)));
  }
  device_counter(device_counter const&) = delete;
  device_counter& operator=(device_counter const&) = delete;
  ~device_counter() { check_noexcept(cudaFree(at_)); }
  unsigned* get() const { return at_; }
  unsigned value() const {
    unsigned found = 0;
    check(cudaMemcpy(&found, at_, sizeof found, cudaMemcpyDeviceToHost));
    return found;
  }

 private:
  unsigned* at_ = nullptr;
};

__global__ void write_to(int volatile* somewhere) { *somewhere = 1; }

/// Eight epochs: where the verdict does not matter.
options brief() {
  options chosen;
  chosen.max_epochs = 8;
  if (test::small()) {
    chosen.cell_seconds = 1e-6;
    chosen.warm_up_seconds = 0;
  }
  return chosen;
}

/// A factory of work that takes some time in proportion to `steps`.
auto chain_of(int steps) {
  return [steps](setup& make) {
    auto const out = make.output<float>(std::size_t{512} * threads);
    return [=](cudaStream_t on) { chain<<<512, threads, 0, on>>>(out.data(), steps); };
  };
}

constexpr long long short_cycles = 20'000;  // 10 us at 2 GHz

void launch_spin(cudaStream_t on) { spin<<<1, 1, 0, on>>>(short_cycles); }

/// The reason that ends a comparison of good work, "a", with `bad`, "b". Checks that "b" is blamed.
std::string blamed(enqueue_function const& bad, options const& chosen = brief()) {
  auto const found = compare("a", launch_spin, "b", bad, chosen);
  CHECK(found.is(verdict::unproven));
  CHECK(found.reason() == found.failure);
  CHECK_THAT(found.failure, test::contains("variant \"b\", epoch 1"));
  return found.failure;
}

/// True if `says` holds for one of three comparisons: 5 % of all comparisons may err.
template <class Compare, class Says>
bool in_three(Compare const& compare_once, Says const& says) {
  for (int i = 0; i < 3; ++i) {
    if (says(compare_once())) { return true; }
  }
  return false;
}

}  // namespace

TEST_CASE("double work is slower, and half of it faster", "[compare]") {
  auto const found = compare("one", chain_of(10'000), "two", chain_of(20'000), brief());
  REQUIRE(found.failure == "");
  auto const back = compare("two", chain_of(20'000), "one", chain_of(10'000), brief());
  REQUIRE(back.failure == "");
  if (test::small()) { return; }
  CHECK(found.is(verdict::slower));
  CHECK(found.effect("one", "two").low > 1.5);
  CHECK(found.effect("one", "two").high < 2.5);
  CHECK(found.primary == measure::clock::gpu);
  CHECK(back.is(verdict::faster));
  CHECK_NOTHROW(require(back, {verdict::faster}));
  CHECK_THROWS_AS(require(found, {verdict::faster, verdict::equivalent}), std::runtime_error);
}

TEST_CASE("times agree with the cycles of the launches", "[compare]") {
  if (test::small()) { return; }
  auto const spinning = [](long long cycles) {
    return [cycles](cudaStream_t on) { spin<<<1, 1, 0, on>>>(cycles); };
  };
  auto const found = compare("one", spinning(1'000'000), "two", spinning(2'000'000), brief());
  REQUIRE(found.failure == "");
  auto const gpu = [&](std::size_t i) { return found.variants[i].on(measure::clock::gpu).median; };
  auto const cycles = [&](std::size_t i) { return gpu(i) * found.variants[i].sm_hertz; };
  INFO("gpu " << gpu(0) << " s, SM " << found.variants[0].sm_hertz * 1e-6 << " MHz");
  CHECK(cycles(0) > 1e6);
  CHECK(cycles(0) < 1.05e6);
  CHECK(cycles(1) / cycles(0) == Approx(2).epsilon(0.03));
  auto const submit = found.variants[0].on(measure::clock::submit).median;
  CHECK(submit > 0);
  CHECK(submit < 0.5 * gpu(0));  // enqueued ahead, not one at a time
}

TEST_CASE("equal work is equivalent", "[compare]") {
  if (test::small()) { return; }
  auto const once = [] { return compare("a", chain_of(10'000), "b", chain_of(10'000)); };
  CHECK(in_three(once, [](auto const& found) { return found.is(verdict::equivalent); }));
}

TEST_CASE("a wrong result names variant, epoch and element", "[compare]") {
  auto const doubled_but = [](unsigned wrong) {
    return [wrong](setup& make) {
      constexpr unsigned count = 5000;
      auto const x = make.random<float>(count);
      auto const y = make.output<float>(count);
      make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
      return [=](cudaStream_t on) {
        double_all_but<<<20, threads, 0, on>>>(x.data(), y.data(), count, wrong);
      };
    };
  };
  auto const found = compare("right", doubled_but(5000), "wrong", doubled_but(1234), brief());
  CHECK(found.is(verdict::wrong_answer));
  CHECK_THAT(found.reason(), test::contains("variant \"wrong\", epoch 1, before timing"));
  CHECK_THAT(found.reason(), test::contains("element 1234 of array 1 is 77, expected"));
}

TEST_CASE("a launch that throws on its third call is named", "[compare]") {
  auto const calls = std::make_shared<int>(0);
  CHECK_THAT(blamed([calls](cudaStream_t on) {
               if (++*calls == 3) { throw std::runtime_error("no more than two"); }
               launch_spin(on);
             }),
             test::contains("no more than two"));
  CHECK(*calls == 3);
}

TEST_CASE("a launch that cannot start is named", "[compare]") {
  if (test::small()) { return; }  // a sanitizer would report it
  auto const why = blamed([](cudaStream_t on) { spin<<<1, 4096, 0, on>>>(0); });
  CHECK_THAT(why, test::contains("a launch or call of its own failed, perhaps by an empty grid, or "
                                 "by more threads or shared memory than a block may have: "
                                 "cudaErrorInvalidValue"));
  CHECK_THAT(why, !test::contains("launch_subject"));
  CHECK(cudaGetLastError() == cudaSuccess);
}

// The context is lost with it, so a process of its own runs this one.
TEST_CASE("in a process of its own: an illegal address is named", "[.][illegal]") {
  auto* const nowhere = reinterpret_cast<int*>(16);
  auto const why = blamed([=](cudaStream_t on) { write_to<<<1, 1, 0, on>>>(nowhere); });
  CHECK_THAT(why, test::contains("cudaErrorIllegalAddress"));
}

TEST_CASE("an illegal address is named", "[compare]") {
  if (test::small()) { return; }
  auto const program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::unique_ptr<FILE, int (*)(FILE*)> const child{
      ::popen(("'" + program + "' '[illegal]' 2>&1").c_str(), "r"), ::pclose};
  REQUIRE(child != nullptr);
  std::string told;
  for (int c = 0; (c = std::fgetc(child.get())) != EOF;) { told += static_cast<char>(c); }
  CHECK_THAT(told, test::contains("All tests passed") && test::contains("in 1 test case"));
}

TEST_CASE("a callable that enqueues nothing is named", "[compare]") {
  if (test::small()) { return; }  // a sanitizer waits in launches, so that no stream is held
  CHECK_THAT(blamed([](cudaStream_t) {}), test::contains("enqueues nothing on the stream"));
}

TEST_CASE("work on the default stream that nothing joins is named", "[compare]") {
  if (test::small()) { return; }
  constexpr long long long_cycles = 1'000'000;  // 0.5 ms
  auto const alone = blamed([](cudaStream_t) { spin<<<1, 1>>>(long_cycles); });
  CHECK_THAT(alone, test::contains("enqueues nothing on the stream") ||
                        test::contains("on other streams"));
  auto const beside = blamed([](cudaStream_t on) {
    launch_spin(on);
    spin<<<1, 1>>>(long_cycles);
  });
  CHECK_THAT(beside, test::contains("work that it enqueued on other streams still ran"));
}

TEST_CASE("work on a second stream is timed where events join it, else it is named", "[compare]") {
  constexpr long long cycles = 1'000'000;
  stream const side{on::device{0}};
  event forked, joined;
  auto const beside = [&](cudaStream_t on) {
    forked.record(::cuda::stream_ref{on});
    check(cudaStreamWaitEvent(side.get(), forked.get()));
    spin<<<1, 1, 0, side.get()>>>(cycles);
    joined.record(side);
    check(cudaStreamWaitEvent(on, joined.get()));
  };
  auto const found = compare("a", beside, "b", beside, brief());
  if (test::small()) { return; }  // a sanitizer makes the drain of an idle device long
  REQUIRE(found.failure == "");
  auto const& variant = found.variants[1];
  CHECK(variant.on(measure::clock::gpu).median * variant.sm_hertz > 0.95 * cycles);
  CHECK_THAT(blamed([&](cudaStream_t on) {
               launch_spin(on);
               spin<<<1, 1, 0, side.get()>>>(cycles);
             }),
             test::contains("work that it enqueued on other streams still ran"));
  side.synchronize();
}

TEST_CASE("a callable that blocks gets a verdict, and the report says so", "[compare]") {
  auto const blocking = [](setup& make) {
    return [launch = chain_of(20'000)(make)](cudaStream_t on) {
      launch(on);
      check(cudaStreamSynchronize(on));
    };
  };
  auto const once = [&] {
    auto const found = compare("a", blocking, "b", blocking, brief());
    REQUIRE(found.failure == "");
    REQUIRE(found.caveats.size() == 1);
    CHECK_THAT(found.caveats.front(),
               test::contains("\"a\" synchronises") || test::contains("\"b\" synchronises"));
    return found;
  };
  CHECK(in_three(once,
                 [](auto const& found) { return test::small() || !found.is(verdict::unproven); }));
}

TEST_CASE("void() work that launches kernels is told of its host arrays", "[compare]") {
  auto const on_host = [](setup& make) {
    auto const y = make.output<float>(100);
    make.expect(y, [](std::size_t) { return 1; });
    return [] { launch_spin(cudaStreamPerThread); };
  };
  auto const found = compare("a", on_host, "b", on_host, brief());
  CHECK(found.is(verdict::wrong_answer));
  CHECK_THAT(found.reason(), test::contains("arrays of void() work are in host memory"));
}

TEST_CASE("arrays of inout start anew before each verification", "[compare]") {
  auto const doubling = [](setup& make) {
    constexpr unsigned count = 5000;
    auto const x = make.inout<float>(count);
    make.expect(x, [x](std::size_t i) { return 2.0 * x.seeded(i); });
    return [=](cudaStream_t on) { double_in_place<<<20, threads, 0, on>>>(x.data(), count); };
  };
  auto const found = compare("a", doubling, "b", doubling, brief());
  CHECK(found.failure == "");
  CHECK_FALSE(found.is(verdict::wrong_answer));
}

TEST_CASE("each launch on an array of inout starts from its first content", "[compare]") {
  // Counts launches that find a first element of another value than at the start.
  auto const again = std::make_shared<device_counter>();
  auto const marking = [again](setup& make) {
    auto const x = make.inout<float>(5000, {1, 2});
    return [=](cudaStream_t on) { mark<<<20, threads, 0, on>>>(x.data(), 5000, again->get()); };
  };
  auto chosen = brief();
  for (auto const clock : {measure::clock::gpu, measure::clock::submit, measure::clock::wall}) {
    chosen.clock = clock;
    auto const found = compare("a", marking, "b", chain_of(1000), chosen);
    CHECK(found.failure == "");
    CHECK(again->value() == 0);
  }
  chosen.clock = measure::clock::gpu;
  chosen.cold_cache = true;
  CHECK(compare("a", marking, "b", marking, chosen).failure == "");
  CHECK(again->value() == 0);
}

TEST_CASE("launches on the same device buffers share them, and others may be placed apart",
          "[compare]") {
  auto const buffer = [] {
    void* made = nullptr;
    check(cudaMalloc(&made, 512 * threads * sizeof(float)));
    return std::shared_ptr<float>{static_cast<float*>(made),
                                  [](float* old) { check_noexcept(cudaFree(old)); }};
  };
  auto const x = buffer();
  auto const y = buffer();
  auto const on_buffer = [](float* out, int steps) {
    return [=](cudaStream_t on) { chain<<<512, threads, 0, on>>>(out, steps); };
  };
  auto const shares = [](comparison const& found) {
    CHECK(found.failure == "");
    for (auto const& each : found.notes) {
      if (each.find("callables keep their buffers") != std::string::npos) { return false; }
    }
    return true;
  };
  float* const ours = x.get();
  float* const theirs = y.get();
  CHECK(shares(compare("a", on_buffer(ours, 900), "b", on_buffer(ours, 1000), brief())));
  CHECK_FALSE(shares(compare("a", on_buffer(ours, 900), "b", on_buffer(theirs, 900), brief())));
  // A reference leads to memory of the host, which may hold any pointer.
  auto const by_reference = [&](cudaStream_t on) { chain<<<512, threads, 0, on>>>(ours, 900); };
  CHECK_FALSE(shares(compare("a", by_reference, "b", by_reference, brief())));
  auto same = brief();
  same.same_buffers = true;
  CHECK(shares(compare("a", by_reference, "b", by_reference, same)));
  CHECK_FALSE(shares(compare("a", enqueue_function{by_reference}, "b", by_reference, brief())));
}

TEST_CASE("a kernel without work proves nothing", "[compare]") {
  if (test::small()) { return; }
  auto const idle = [](setup& make) {
    auto const x = make.scratch<float>(1);
    return [=](cudaStream_t on) { double_in_place<<<1, 32, 0, on>>>(x.data(), 0); };
  };
  auto const found = compare("a", idle, "b", idle);
  CHECK(found.is(verdict::unproven));
  CHECK_THAT(found.reason(), test::contains("no longer than an empty call"));
  auto const once = [] { return compare("a", chain_of(300), "b", chain_of(300)); };
  CHECK(in_three(once, [](auto const& each) { return each.is(verdict::equivalent); }));
}

TEST_CASE("work of another thread is no fault of the callable", "[compare]") {
  if (test::small()) { return; }
  std::jthread const other{[](std::stop_token const& stop) {
    stream const own{on::device{0}};
    while (!stop.stop_requested()) {
      spin<<<1, 1, 0, own.get()>>>(1'000'000);
      own.synchronize();
    }
  }};
  auto const found = compare("a", chain_of(10'000), "b", chain_of(10'000), brief());
  CHECK(found.failure == "");
  REQUIRE(found.caveats.size() == 1);
  CHECK_THAT(found.caveats.front(), test::contains("another thread of this process"));
}

TEST_CASE("lines that persist in L2 are cleared with a cold cache and between variants",
          "[compare]") {
  if (test::small()) { return; }
  int most = 0;
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, 0));
  if (most == 0) { return; }
  auto const carve_out = std::min<std::size_t>(static_cast<std::size_t>(most), 8U << 20U);
  check(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, carve_out));
  // A launch of the kernel marks its reads as persisting.
  auto const reading = [carve_out](bool persists) {
    return [=](setup& make) {
      constexpr unsigned count = (4U << 20U) / sizeof(float4);
      auto const x = make.random<float>(std::size_t{4} * count);
      auto const out = make.output<float>(std::size_t{512} * threads);
      return [=](cudaStream_t on) {
        cudaLaunchAttribute window{};
        window.id = cudaLaunchAttributeAccessPolicyWindow;
        auto& policy = window.val.accessPolicyWindow;
        policy.base_ptr = const_cast<float*>(x.data());
        policy.num_bytes = std::min<std::size_t>(carve_out, 16 * count);
        policy.hitRatio = 1;
        policy.hitProp = persists ? cudaAccessPropertyPersisting : cudaAccessPropertyNormal;
        policy.missProp = cudaAccessPropertyStreaming;
        cudaLaunchConfig_t how{};
        how.gridDim = 512;
        how.blockDim = threads;
        how.stream = on;
        how.attrs = &window;
        how.numAttrs = 1;
        check(cudaLaunchKernelEx(&how, read_all, reinterpret_cast<float4 const*>(x.data()),
                                 out.data(), count));
      };
    };
  };
  auto chosen = brief();
  auto const hot = compare("a", reading(true), "b", reading(true), chosen);
  chosen.cold_cache = true;
  auto const cold = compare("persists", reading(true), "streams", reading(false), chosen);
  check(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0));
  REQUIRE(hot.failure == "");
  REQUIRE(cold.failure == "");
  auto const median = [](comparison const& found, std::size_t i) {
    return found.variants[i].on(measure::clock::gpu).median;
  };
  INFO("hot " << median(hot, 0) << " s, cold " << median(cold, 0) << " and " << median(cold, 1));
  CHECK(median(cold, 0) > 1.2 * median(hot, 0));
  CHECK(median(cold, 0) == Approx(median(cold, 1)).epsilon(0.1));
}

TEST_CASE("a cold cache makes a read of 8 MiB slower", "[compare]") {
  auto const reading = [](setup& make) {
    constexpr unsigned count = (8U << 20U) / sizeof(float4);
    auto const x = make.random<float>(std::size_t{4} * count);
    auto const out = make.output<float>(std::size_t{512} * threads);
    return [=](cudaStream_t on) {
      read_all<<<512, threads, 0, on>>>(reinterpret_cast<float4 const*>(x.data()), out.data(),
                                        count);
    };
  };
  auto chosen = brief();
  auto const hot = compare("a", reading, "b", reading, chosen);
  chosen.cold_cache = true;
  auto const cold = compare("a", reading, "b", reading, chosen);
  REQUIRE(hot.failure == "");
  REQUIRE(cold.failure == "");
  auto const median = [](auto const& found) {
    return found.variants[0].on(measure::clock::gpu).median;
  };
  CHECK((test::small() || median(cold) > 1.2 * median(hot)));
}

TEST_CASE("the wall clock times as many launches of each variant", "[compare]") {
  auto chosen = brief();
  chosen.clock = measure::clock::wall;
  auto const once = [&] {
    std::array<int, 2> calls{};
    auto const counted = [&calls](std::size_t which) {
      return [&calls, which](cudaStream_t on) {
        ++calls[which];
        launch_spin(on);
      };
    };
    auto const found = compare("a", counted(0), "b", counted(1), chosen);
    REQUIRE(found.failure == "");
    CHECK(found.primary == measure::clock::wall);
    // Both keep their buffers, so neither has a second instance. Untimed launches are random.
    CHECK_FALSE(found.hidden_control.has_value());
    CHECK(calls[0] > 0);
    CHECK(calls[1] == Approx(calls[0]).epsilon(0.2));
    return found;
  };
  CHECK(in_three(once, [](auto const& found) {
    return test::small() || found.is(verdict::equivalent) || found.is(verdict::inconclusive);
  }));
}

TEST_CASE("a factory that runs out of memory names the bytes", "[compare]") {
  auto const greedy = [](setup& make) {
    auto const all = make.scratch<std::byte>(std::size_t{1} << 50U);
    return [=](cudaStream_t on) { check(cudaMemsetAsync(all.data(), 0, 1, on)); };
  };
  if (test::small()) { return; }
  auto const found = compare("a", chain_of(100), "b", greedy, brief());
  CHECK(found.is(verdict::unproven));
  CHECK_THAT(found.reason(), test::contains("variant \"b\", epoch 1, building"));
  CHECK_THAT(found.reason(), test::contains("no room for 1024 TiB"));
}

TEST_CASE("variants that do not fit into memory together run one at a time", "[compare]") {
  if (test::small()) { return; }  // other tests need memory of the device at the same time
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  // Two buffer sets of a fifth of the free memory each: two subjects fit, and the third does not.
  auto const holding = [bytes = free / 5](int steps) {
    return [bytes, steps](setup& make) {
      (void)make.scratch<std::byte>(bytes);
      auto const y = make.output<float>(threads);
      return [=](cudaStream_t on) { chain<<<1, threads, 0, on>>>(y.data(), steps); };
    };
  };
  auto const found = compare("short", holding(1'000), "long", holding(4'000), brief());
  INFO(found);
  CHECK(found.failure.empty());
  CHECK(found.effect("short", "long").ratio > 1.5);
  REQUIRE(found.caveats.size() == 1);
  CHECK_THAT(found.caveats.front(), test::contains("do not fit into memory together") &&
                                        test::contains("from epoch 1 on"));
}

TEST_CASE("memory that a callable asks of the CUDA runtime counts too", "[compare]") {
  if (test::small()) { return; }  // as above
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  auto const holding = [bytes = free / 5](int steps) {
    return [bytes, steps](setup& make) {
      void* block = nullptr;
      check(cudaMalloc(&block, bytes));
      std::shared_ptr<void> const held{block, [](void* old) { check_noexcept(cudaFree(old)); }};
      auto const y = make.output<float>(threads);
      return [=](cudaStream_t on) {
        (void)held;
        chain<<<1, threads, 0, on>>>(y.data(), steps);
      };
    };
  };
  auto const found = compare("short", holding(1'000), "long", holding(4'000), brief());
  CHECK(found.failure.empty());
  REQUIRE(found.caveats.size() == 1);
  CHECK_THAT(found.caveats.front(), test::contains("cudaErrorMemoryAllocation"));
}

TEST_CASE("an invalid comparison is refused before anything runs", "[compare]") {
  auto const refused = [](auto const&... words) -> std::string {
    try {
      (void)compare(words...);
    } catch (std::invalid_argument const& error) { return error.what(); }
    return "nothing was refused";
  };
  auto const good = launch_spin;
  options nowhere, negative, none;
  nowhere.place = on::device{99};
  negative.margin = -0.01;
  CHECK_THAT(refused("a", good, "b", good, nowhere), test::contains("device 99"));
  CHECK_THAT(refused("a", good, "b", good, negative),
             test::contains("margin is positive, not -0.01"));
  CHECK_THAT(refused("a", good, "a", good), test::contains("two variants are labelled \"a\""));
  CHECK_THAT(refused("a", good, "", good), test::contains("name that is not empty"));
  CHECK_THAT(refused("a", good, "b", enqueue_function{}),
             test::contains("\"b\" is a null callable"));
  CHECK_THAT(refused("a", good, "b", static_cast<void (*)(cudaStream_t)>(nullptr)),
             test::contains("\"b\" is a null callable"));
  none.max_epochs = 0;
  CHECK_THAT(refused("a", good, "b", good, none), test::contains("not 0"));
}

TEST_CASE("a seed repeats the order of all cells", "[compare]") {
  auto chosen = brief();
  chosen.warm_up_seconds = 0;  // one round, whatever the times are
  auto const order = [&](std::uint64_t seed) {
    chosen.seed = seed;
    auto const found = compare("a", chain_of(1000), "b", chain_of(1000), chosen);
    REQUIRE(found.failure == "");
    CHECK(found.seed == seed);
    // The number of blocks follows from times after the second epoch.
    std::vector<std::array<int, 4>> cells;
    for (auto const& each : found.cells) {
      if (each.epoch < 2) {
        cells.push_back({each.epoch, each.position, each.variant, each.buffer_set});
      }
    }
    return cells;
  };
  auto const first = order(7);
  auto const again = order(7);
  // Two epochs of two blocks of four cells for three instances. Under a sanitizer launches are
  // long, and their time may ask for one block.
  bool const one_block = test::small() && std::min(first.size(), again.size()) == 24;
  CHECK((first.size() == 48 || one_block));
  CHECK((first == again || one_block));
  CHECK(first != order(8));
}

TEST_CASE("each epoch and each buffer set has buffers of its own", "[compare]") {
  std::set<float*> places;
  int made = 0;
  auto const noted = [&](setup& make) {
    auto const out = make.output<float>(std::size_t{512} * threads);
    places.insert(out.data());
    ++made;
    return [=](cudaStream_t on) { chain<<<512, threads, 0, on>>>(out.data(), 1000); };
  };
  auto const found = compare("a", noted, "b", noted, brief());
  REQUIRE(found.failure == "");
  CHECK(made == 6 * static_cast<int>(found.epoch_records.size()));
  CHECK(static_cast<int>(places.size()) > made / 2);
}

TEST_CASE("short launches have the cost of a launch and that of a cell", "[compare]") {
  auto const tiny = [](cudaStream_t on) { spin<<<1, 1, 0, on>>>(2000); };
  auto const found = compare("a", tiny, "b", tiny, brief());
  REQUIRE(found.failure == "");
  for (auto const& each : found.variants) {
    if (!each.costs) { continue; }  // 20 us or more, as under a sanitizer, or few epochs
    CHECK(each.costs->per_launch.estimate > 0);
    CHECK(std::isfinite(each.costs->per_cell.low));
    for (auto const& cell : each.costs->cells) {
      CHECK((cell.launches >= 21 && cell.launches < found.launches));
      CHECK(cell.seconds > 0);
    }
  }
}
