// assay-test-timeout: 900
// SPDX-License-Identifier: Apache-2.0
// The pool relies on the driver beyond CUDA's documents: some calls wait for the device, some do
// not, and some leave the captures of other threads alone. docs/pool.md names these tests.
#include "catch.hpp"
#include "pool/tags.cuh"
#include "support/held_work.cuh"

#include <assay/core/owned_memory.hpp>
#include <assay/core/units.hpp>
#include <assay/memory/async.hpp>
#include <assay/memory/checked.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/memory/managed.hpp>
#include <assay/memory/pinned.hpp>
#include <assay/pool/pool_definitions.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::literals;
using test::expect, test::readable, test::write, test::wrong_count;

namespace {

constexpr on::device place{0};

/// Makes a call on another thread while a stream is captured. The graph is whole afterwards.
void beside_capture(std::function<void()> const& call,
                    unsigned stream_flags = cudaStreamNonBlocking) {
  cudaStream_t captured = nullptr;
  check(cudaStreamCreateWithFlags(&captured, stream_flags));
  check(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
  std::thread{[&] {
    check(cudaSetDevice(place.id));
    call();
  }}.join();
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(captured, &graph) == cudaSuccess);
  (void)cudaGetLastError();
  if (graph != nullptr) { check(cudaGraphDestroy(graph)); }
  check(cudaStreamDestroy(captured));
}

}  // namespace

TEST_CASE("a wait for the device comes after streams that have ended, and ends no capture") {
  stream const captured{place};
  auto gone = std::make_optional<stream>(place);
  mr::cuda_pool_backend const backend{place};
  auto pool = mr::pool{.max_bytes = 8_MiB}.open(place);
  std::atomic<bool> over{false};
  check(cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeGlobal));
  std::thread{[&] {
    check(cudaSetDevice(place.id));
    check(cudaLaunchHostFunc(
        gone->get(),
        [](void* told) {
          std::this_thread::sleep_for(std::chrono::milliseconds{50});
          static_cast<std::atomic<bool>*>(told)->store(true);
        },
        &over));
    {
      relaxed_capture_guard const relaxed;
      gone.reset();
    }
    backend.synchronize();
    CHECK(over);
    stream const lane{[] {
      relaxed_capture_guard const relaxed;
      return stream{place};
    }()};
    auto mine = pool;
    CHECK_THROWS_AS(mine.allocate(lane, 16_MiB), mr::out_of_memory);  // after a wait
    CHECK(mine.trim() == 0);
  }}.join();
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(captured.get(), &graph));
  check(cudaGraphDestroy(graph));
}

TEST_CASE("a pool that is opened and dropped beside a capture leaves the capture alone") {
  stream const captured{place};
  check(cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeGlobal));
  std::thread{[] {
    for (bool const mapped : {true, false}) { (void)mr::pool{.mapped = mapped}.open(place); }
  }}.join();
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(captured.get(), &graph));
  check(cudaGraphDestroy(graph));
}

TEST_CASE("mapping and unmapping memory wait for no work of the device") {
  if (!mr::mapped_range::supported(place)) { return; }
  device_guard const guard{place};
  mr::mapped_range range{place};
  auto const former = range.map(64_MiB);
  benchmark::held_work const busy{place};
  auto const added = range.map(64_MiB, former + 64_MiB);
  CHECK(added == former + 64_MiB);
  range.unmap(former, 64_MiB);
  range.unmap(added, 64_MiB);
  CHECK_FALSE(busy.over());
}

TEST_CASE("a thread that work of the device waits for gets memory while others trim or miss") {
  bool const trims = GENERATE(true, false);
  bool const fixed = GENERATE(true, false);
  bool const large = GENERATE(false, true);  // for caches, so that each free records an event
  INFO((trims ? "trims" : "misses") << (fixed ? ", all memory from the begin" : ", memory grows")
                                    << (large ? ", large blocks" : ", cached blocks"));
  stream const mine{place};
  stream const theirs{place};
  auto pool = mr::pool{.initial_bytes = fixed ? 8_MiB : 0,
                       .max_bytes = 8_MiB,
                       .growth_bytes = 2_MiB,
                       .stream_cache_bytes = large ? 0 : 256_MiB}
                  .open(place);
  void* const kept = pool.allocate(mine, 1_MiB);
  void* const own = pool.allocate(mine, 2_MiB);
  void* const other = pool.allocate(theirs, 2_MiB);
  pool.deallocate(mine, own, 2_MiB);
  pool.deallocate(theirs, other, 2_MiB);
  benchmark::held_work busy{place};
  std::atomic<bool> waits{false};
  std::thread waiting{[&] {
    check(cudaSetDevice(place.id));
    auto handle = pool;
    waits = true;
    if (trims) {
      (void)handle.trim();
    } else {
      CHECK_THROWS_AS(handle.allocate(theirs, 8_MiB), mr::out_of_memory);
    }
  }};
  while (!waits) { std::this_thread::yield(); }
  std::this_thread::sleep_for(std::chrono::milliseconds{50});  // so that it waits most likely
  for (int i = 0; i < 100; ++i) { pool.deallocate(mine, pool.allocate(mine, 2_MiB), 2_MiB); }
  bool const waited = busy.over();
  busy.let_go();
  waiting.join();
  pool.deallocate(mine, kept, 1_MiB);
  CHECK_FALSE(waited);
}

TEST_CASE("memory of every resource goes beside a capture, and so do streams and handles") {
  std::optional<stream> lane{place};
  auto device_memory = mr::cuda_malloc{}.open(place);
  auto managed = mr::managed{}.open(place);
  auto pinned = mr::pinned{}.open(place);
  auto driver = std::make_optional(mr::async{.initial_bytes = 2_MiB}.open(place));
  void* const a = device_memory.allocate(*lane, 4_KiB);
  void* const b = managed.allocate(*lane, 4_KiB);
  void* const c = pinned.allocate(*lane, 4_KiB);
  driver->deallocate(*lane, driver->allocate(*lane, 4_KiB), 4_KiB);
  std::optional<device_block> block{std::in_place, place, 4_KiB};
  std::optional<page_locked_block> locked{std::in_place, 4_KiB};
  auto const beside = [](char const* what, std::function<void()> const& call) {
    INFO(what);
    beside_capture(call);
  };
  beside("mr::cuda_malloc", [&] { device_memory.deallocate(*lane, a, 4_KiB); });
  beside("mr::managed", [&] { managed.deallocate(*lane, b, 4_KiB); });
  beside("mr::pinned", [&] { pinned.deallocate(*lane, c, 4_KiB); });
  beside("device_block", [&] { block.reset(); });
  beside("page_locked_block", [&] { locked.reset(); });
  beside("mr::async", [&] { driver.reset(); });
  beside("a stream", [&] { lane.reset(); });
  beside("a wait for the device", [] { wait_for_device(place); });
}

TEST_CASE("the driver's pool may be dropped with work and frees pending") {
  wrong_count const wrong;
  stream const lane{place};
  for (unsigned i = 0; i < 10; ++i) {
    auto memory = std::make_optional(mr::async{}.open(place));
    void* const block = memory->allocate(lane, 64_MiB);
    write(lane, block, 64_MiB, i);
    expect(lane, block, 64_MiB, i, wrong, test::small() ? 1'000 : 20'000'000);
    memory->deallocate(lane, block, 64_MiB);
    memory.reset();
    // Memory that the driver hands out now is not that which the kernel still looks at.
    stream const other{place};
    device_block const fresh{place, 64_MiB};
    check(cudaMemsetAsync(fresh.get(), 0xFF, 64_MiB, other.get()));
    other.synchronize();
  }
  CHECK(wrong.value() == 0);
}

TEST_CASE("the legacy default stream gives blocks back beside the capture of a stream that waits") {
  ::cuda::stream_ref const legacy{cudaStreamLegacy};
  stream const lane{place};
  auto pool = mr::pool{.initial_bytes = 8_MiB, .max_bytes = 8_MiB}.open(place);
  void* const small = pool.allocate(legacy, 4_KiB);
  void* const large = pool.allocate(lane, 4_MiB);
  lane.synchronize();
  beside_capture(
      [&] {
        auto mine = pool;
        mine.deallocate(legacy, small, 4_KiB);
        mine.deallocate(legacy, large, 4_MiB);
        CHECK(test::message_of([&] {
                mine.allocate(legacy, 4_KiB);
              }).find("mr::pool: allocate on the legacy default stream") == 0);
      },
      cudaStreamDefault);
  CHECK(pool.stats().live_bytes == 0);
  void* const all = pool.allocate(lane, 8_MiB);  // after a wait for the device
  pool.deallocate(lane, all, 8_MiB);

  beside_capture([&] {  // of a stream that does not wait for the legacy one
    auto mine = pool;
    mine.deallocate(legacy, mine.allocate(legacy, 4_KiB), 4_KiB);
  });
}

TEST_CASE("a child of a fork is refused by name") {
  stream const lane{place};
  auto pool = mr::pool{4_MiB}.open(place);
  pool.deallocate(lane, pool.allocate(lane, 4_KiB), 4_KiB);
  auto const child = fork();
  if (child == 0) {
    auto const told = test::message_of([&] { pool.allocate(lane, 4_KiB); });
    _exit(told.find("mr::pool: allocate in a process that was forked") == 0 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  pool.deallocate(lane, pool.allocate(lane, 4_KiB), 4_KiB);
}

namespace {

/// Memory of `cudaMalloc` for a pool. It notes the device of each call, and has room for `budget`
/// bytes; what it says beyond them is CCCL's exception.
struct foreign_upstream {
  struct notes {
    std::size_t left;
    std::vector<int> devices;
  };
  notes* seen;
  void* allocate_sync(std::size_t bytes, std::size_t) const {
    seen->devices.push_back(current_device().id);
    if (bytes > seen->left) {
      throw ::cuda::cuda_error(cudaErrorMemoryAllocation, "no room of the upstream");
    }
    seen->left -= bytes;
    void* block = nullptr;
    check(cudaMalloc(&block, bytes));
    return block;
  }
  void deallocate_sync(void* block, std::size_t bytes, std::size_t) const noexcept {
    seen->devices.push_back(current_device().id);
    seen->left += bytes;
    check_noexcept(cudaFree(block));
  }
};

}  // namespace

TEST_CASE("an upstream is called under its device, and may say in CCCL's words that it is full") {
  on::device const last{device_count() -
                        1};  // another device than the current one, if there are two
  stream const lane{last};
  foreign_upstream::notes seen{8_MiB, {}};
  {
    auto pool = mr::pool{.growth_bytes = 2_MiB}.open(last, foreign_upstream{&seen});
    pool.deallocate(lane, pool.allocate(lane, 4_MiB), 4_MiB);
    CHECK(test::message_of([&] { pool.allocate(lane, 16_MiB); }).find("mr::pool: no room for") ==
          0);
    auto const given_back = seen.left;  // what was missing may have gone back already
    CHECK(given_back + pool.trim() == 8_MiB);
    pool.deallocate(lane, pool.allocate(lane, 4_MiB), 4_MiB);
  }
  CHECK(seen.left == 8_MiB);
  for (int const each : seen.devices) { CHECK(each == last.id); }
  CHECK(current_device().id == place.id);
}

TEST_CASE("a block given back on a stream of another device waits for the work of both") {
  if (device_count() < 2) { return; }
  on::device const peer{1};
  int reaches = 0;
  check(cudaDeviceCanAccessPeer(&reaches, peer.id, place.id));
  if (reaches == 0) { return; }
  auto memory = mr::checked_resource{
      mr::pool{.initial_bytes = 2_MiB, .max_bytes = 2_MiB, .peer_access = true}.open(place)};
  wrong_count const wrong;
  stream const own_stream{place};
  stream const peer_stream{peer};
  ::cuda::stream_ref const lane{own_stream};
  ::cuda::stream_ref const theirs{peer_stream};
  CHECK(test::message_of([&] {
          memory.allocate(theirs, 4_KiB);
        }).find("mr::pool: a stream of device 1 for a pool of device 0") == 0);
  void* const block = memory.allocate(lane, 2_MiB);
  write(lane, block, 2_MiB, 1);
  own_stream.synchronize();
  {
    device_guard const guard{peer};
    expect(theirs, block, 2_MiB, 1, wrong, 200'000'000);
  }
  memory.deallocate(theirs, block, 2_MiB);
  CHECK(test::message_of([&] { memory.verify(); }).find("mr::checked: late frees: 1") == 0);
  void* const again = memory.allocate(lane, 2_MiB);
  CHECK(again == block);
  write(lane, again, 2_MiB, 2);
  own_stream.synchronize();
  {
    device_guard const guard{peer};
    check(cudaDeviceSynchronize());
  }
  CHECK(wrong.value() == 0);
  memory.deallocate(lane, again, 2_MiB);
}
