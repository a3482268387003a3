// SPDX-License-Identifier: Apache-2.0
// Adaptors, the heap and the buffer, with no CUDA toolkit.
#include "catch.hpp"
#include "memory/contract.hpp"
#include "memory/limited.hpp"
#include "memory/poisoned.hpp"

#include <assay/core/units.hpp>
#include <assay/memory/buffer.hpp>
#include <assay/memory/checked.hpp>
#include <assay/memory/counted.hpp>
#include <assay/memory/heap.hpp>
#include <assay/memory/thread_identity.hpp>
#include <assay/memory/watched.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <sstream>
#include <stdexcept>
#include <thread>

using namespace assay;
using namespace assay::literals;

namespace {

constexpr host_stream here{};

void touch(void* block, std::size_t bytes) { std::memset(block, 0x5A, bytes); }

}  // namespace

TEST_CASE("every host resource keeps the contract") {
  on::host const place{};
  test::check_contract(mr::heap{}, place, here, touch);
  test::check_contract(mr::counted{mr::heap{}}, place, here, touch);
  test::check_contract(mr::checked{mr::heap{}}, place, here, touch);
  test::check_contract(test::limited{mr::heap{}, 1_GiB}, place, here, touch);
  test::check_contract(test::poisoned{mr::heap{}}, place, here, touch);
  test::check_contract(mr::borrowed<mr::heap_resource>{{}}, place, here, touch);
  test::check_contract(mr::borrowed{mr::watched<host_stream>(mr::heap_resource{})}, place, here,
                       touch);
  test::check_contract(mr::counted{test::limited{test::poisoned{mr::heap{}}, 1_GiB}}, place, here,
                       touch);
}

namespace {

/// A resource with all that an adaptor may pass on, which it notes.
struct noting {
  struct notes {
    int captures = 0, ends = 0, releases = 0;
  };
  struct hold {
    notes* seen;
    void end() const { ++seen->ends; }
  };
  notes* seen;
  mr::heap_resource heap{};

  void* allocate(host_stream stream, std::size_t bytes, std::size_t alignment) {
    return heap.allocate(stream, bytes, alignment);
  }
  void deallocate(host_stream stream, void* block, std::size_t bytes,
                  std::size_t alignment) noexcept {
    heap.deallocate(stream, block, bytes, alignment);
  }
  hold capture(host_stream) const { return ++seen->captures, hold{seen}; }
  void release(host_stream) const { ++seen->releases; }
  bool operator==(noting const&) const = default;
};

}  // namespace

TEST_CASE("watched: resources of several types become one, with all that they can do") {
  noting::notes seen;
  auto resource = mr::watched<host_stream>(noting{&seen});
  resource.capture(here).end();
  resource.release(here);
  CHECK(seen.captures == 1);
  CHECK(seen.ends == 1);
  CHECK(seen.releases == 1);

  auto plain = mr::watched<host_stream>(mr::heap_resource{});
  static_assert(capturable_memory<decltype(resource), host_stream>);
  static_assert(!capturable_memory<decltype(plain), host_stream>);
  static_assert(std::same_as<decltype(plain), decltype(mr::watched<host_stream>(
                                                  mr::counted{mr::heap{}}.open(on::host{})))>);
  plain.release(here);
}

TEST_CASE("watched: calls are timed always, and counted from a call on") {
  auto resource = mr::watched<host_stream>(mr::heap_resource{});
  resource.nanoseconds_on_this_thread() = 0;
  resource.deallocate(here, resource.allocate(here, 100), 100);
  CHECK(resource.nanoseconds_on_this_thread() > 0);
  CHECK(resource.upstream().counts().allocations == 0);
  for (int i = 0; i < 2; ++i) {
    resource.upstream().start_counting();
    resource.deallocate(here, resource.allocate(here, 1000), 1000);
    auto const counts = resource.upstream().counts();
    CHECK(counts.allocations == 1);
    CHECK(counts.deallocations == 1);
    CHECK(counts.bytes == 1000);
    CHECK(counts.peak_bytes == 1000);
  }
}

TEST_CASE("policies compare by what they choose and say it") {
  CHECK(mr::counted{mr::heap{}} == mr::counted{mr::heap{}});
  CHECK(test::limited{mr::heap{}, 5} != test::limited{mr::heap{}, 6});
  CHECK(describe(mr::counted{test::limited{mr::heap{}, 1_MiB, 3}}) ==
        "mr::counted{test::limited{mr::heap, 1 MiB, fail_at=3}}");
  CHECK(describe(mr::checked{mr::counted{mr::heap{}}}) == "mr::checked{mr::counted{mr::heap}}");
  CHECK(describe(test::poisoned{mr::heap{}}) == "test::poisoned{mr::heap}");
}

TEST_CASE("exceptions that tell of too little memory are known, with the causes nested in them") {
  struct unrelated : std::exception {};
  auto const told = [](auto const& thrown) { return mr::is_out_of_memory(thrown); };
  auto const nested = [&](auto const& cause) {
    try {
      try {
        throw cause;
      } catch (...) { std::throw_with_nested(std::runtime_error("item 3 failed")); }
    } catch (std::exception const& outer) { return told(outer); }
  };
  CHECK(told(std::bad_alloc{}));
  CHECK(told(mr::out_of_memory("no room for 8 GiB")));
  CHECK(told(std::runtime_error("x.cu:7: cudaErrorMemoryAllocation: out of memory")));
  CHECK(told(std::runtime_error("cudaError 2: Failed to allocate memory")));  // CCCL 3.0
  CHECK(told(std::runtime_error("pool.h:7 cudaMallocFromPoolAsync out of memory(2): no room")));
  CHECK_FALSE(told(std::runtime_error("cudaError 209: no kernel image")));
  CHECK_FALSE(told(std::runtime_error("x.cu:7: cudaErrorIllegalAddress: illegal")));
  CHECK_FALSE(told(unrelated{}));
  CHECK(nested(mr::out_of_memory("no room for 8 GiB")));
  CHECK_FALSE(nested(unrelated{}));
  CHECK_FALSE(nested(42));
}

TEST_CASE("byte counts read well and lose nothing") {
  CHECK(mr::describe_bytes(0) == "0 bytes");
  CHECK(mr::describe_bytes(1023) == "1023 bytes");
  CHECK(mr::describe_bytes(1_KiB) == "1 KiB");
  CHECK(mr::describe_bytes(1_KiB + 1) == "1025 bytes");
  CHECK(mr::describe_bytes(1536_KiB) == "1.5 MiB");
  CHECK(mr::describe_bytes(10_GiB) == "10 GiB");
}

TEST_CASE("alignments that cannot be are named") {
  CHECK(test::message_of([] { mr::require_alignment(48); }) ==
        "alignment 48 is not allowed: it must be a power of two of at most 256");
  CHECK(test::message_of([] { mr::require_alignment(512); }) ==
        "alignment 512 is not allowed: it must be a power of two of at most 256");
  CHECK(test::message_of([] { mr::heap_resource{}.allocate(here, std::size_t{1} << 60U); }) ==
        "mr::heap: the C++ heap has no 1048576 TiB left");
}

TEST_CASE("counted: one thread is counted exactly") {
  auto resource = mr::counted{mr::heap{}}.open(on::host{});
  void* const a = resource.allocate(here, 1000);
  void* const b = resource.allocate(here, 3000);
  resource.deallocate(here, a, 1000);
  void* const c = resource.allocate(here, 500);
  auto stats = resource.stats();
  CHECK(stats.allocations == 3);
  CHECK(stats.deallocations == 1);
  CHECK(stats.bytes == 4500);
  CHECK(stats.live_bytes == 3500);
  CHECK(stats.peak_bytes == 4000);
  CHECK(stats.failures == 0);
  CHECK(!stats.reserved_bytes.has_value());

  resource.reset();
  stats = resource.stats();
  CHECK(stats.allocations == 0);
  CHECK(stats.bytes == 0);
  CHECK(stats.live_bytes == 3500);
  CHECK(stats.peak_bytes == 3500);
  resource.deallocate(here, b, 3000);
  resource.deallocate(here, c, 500);
  CHECK(resource.stats().live_bytes == 0);
  CHECK(resource.stats().peak_bytes == 3500);
}

TEST_CASE("counted: failures are counted, and count as nothing else") {
  auto resource = mr::counted{test::limited{mr::heap{}, 100}}.open(on::host{});
  CHECK_THROWS_AS(resource.allocate(here, 101), mr::out_of_memory);
  auto const stats = resource.stats();
  CHECK(stats.failures == 1);
  CHECK(stats.allocations == 0);
  CHECK(stats.bytes == 0);
}

TEST_CASE("counted: the peak of several threads is exact") {
  auto resource = mr::counted{mr::heap{}}.open(on::host{});
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  // Threads take turns, so that the true peak is known: each turn runs on one of them. Blocks are
  // freed by other threads than allocated them.
  std::mt19937_64 random{seed};
  constexpr int count = 4;
  std::vector<std::pair<void*, std::size_t>> live;
  std::size_t live_bytes = 0;
  std::size_t peak = 0;
  std::uint64_t calls = 0;
  std::atomic<int> turn{0};
  std::atomic<bool> stop{false};
  auto const work = [&](int me) {
    for (;;) {
      while (turn.load() != me) {
        if (stop) { return; }
        std::this_thread::yield();
      }
      if (stop) { return; }
      for (int i = 0; i < 5; ++i) {
        if (!live.empty() && random() % 2 == 0) {
          auto const which = random() % live.size();
          resource.deallocate(here, live[which].first, live[which].second);
          live_bytes -= live[which].second;
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        } else {
          std::size_t const bytes = 1 + random() % 40'000;
          live.emplace_back(resource.allocate(here, bytes), bytes);
          live_bytes += bytes;
          peak = std::max(peak, live_bytes);
        }
      }
      if (++calls == 1000) { stop = true; }
      turn = static_cast<int>(random() % count);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) { threads.emplace_back(work, i); }
  for (auto& each : threads) { each.join(); }
  auto const stats = resource.stats();
  CHECK(stats.live_bytes == live_bytes);
  CHECK(stats.peak_bytes == peak);
  for (auto const& [block, bytes] : live) { resource.deallocate(here, block, bytes); }
  CHECK(resource.stats().live_bytes == 0);
}

TEST_CASE("counted: threads at once lose no count, and ended threads stay counted") {
  auto resource = mr::counted{mr::heap{}}.open(on::host{});
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([resource]() mutable {
        for (int k = 0; k < 2000; ++k) {
          void* const block = resource.allocate(here, 100);
          resource.deallocate(here, block, 100);
        }
      });
    }
    for (auto& each : threads) { each.join(); }
  }
  auto const stats = resource.stats();
  CHECK(stats.allocations == 48'000);
  CHECK(stats.deallocations == 48'000);
  CHECK(stats.bytes == 4'800'000);
  CHECK(stats.live_bytes == 0);
  CHECK(stats.peak_bytes <= 800);
  CHECK(stats.peak_bytes >= 100);
}

TEST_CASE("checked: frees that are wrong are told once, and do not reach the resource") {
  auto below = mr::counted{mr::heap{}}.open(on::host{});
  mr::checked_resource resource{below};
  auto const told = [&] { return test::message_of([&] { resource.verify(); }); };
  auto const hex = [](void* block) {
    std::ostringstream text;
    text << "mr::checked: deallocate of 0x" << std::hex << reinterpret_cast<std::uintptr_t>(block);
    return text.str();
  };
  void* const block = resource.allocate(here, 1000);
  void* const wide = resource.allocate(here, 1000, 4096);
  CHECK(told() == "nothing was thrown");

  resource.deallocate(here, block, 2000);
  CHECK(told() == hex(block) +
                      " with 2000 bytes and alignment 256, but it was allocated with 1000 bytes "
                      "and alignment 256");
  resource.deallocate(here, wide, 1000);
  CHECK_THAT(told(), test::contains("but it was allocated with 1000 bytes and alignment 4096"));
  CHECK(told() == "nothing was thrown");
  CHECK(below.stats().deallocations == 0);
  CHECK(resource.live_blocks().size() == 2);

  resource.deallocate(here, wide, 1000, 4096);
  resource.deallocate(here, block, 1000);
  CHECK(below.stats().live_bytes == 0);
  resource.deallocate(here, block, 1000);
  void* const foreign = mr::heap_resource{}.allocate(here, 4);
  resource.deallocate(here, foreign, 4);
  mr::heap_resource{}.deallocate(here, foreign, 4);
  std::string const unknown = ", which is not a live block: freed twice, or not from this resource";
  CHECK(test::message_of([&] { resource.allocate(here, 8); }) ==
        hex(block) + " with 1000 bytes and alignment 256" + unknown + "\n" + hex(foreign) +
            " with 4 bytes and alignment 256" + unknown);
  CHECK(told() == "nothing was thrown");
  CHECK(below.stats().deallocations == 2);
}

TEST_CASE("checked: what is not given back is listed with its thread") {
  auto resource = mr::checked{mr::counted{mr::heap{}}}.open(on::host{});
  void* const block = resource.allocate(here, 1000, 64);
  resource.deallocate(here, resource.allocate(here, 0), 0);
  resource.deallocate(here, resource.allocate(here, 100), 100);
  auto const leaks = resource.live_blocks();
  REQUIRE(leaks.size() == 1);
  CHECK(leaks[0].address == block);
  CHECK(leaks[0].bytes == 1000);
  CHECK(leaks[0].alignment == 64);
  CHECK(leaks[0].thread == mr::this_thread().token);
  CHECK(resource.stats().live_bytes == 1000);  // what the upstream counts
  resource.deallocate(here, block, 1000, 64);
  CHECK(resource.live_blocks().empty());
}

TEST_CASE("checked: threads at once give each other's blocks back, and none is called wrong") {
  auto resource = mr::checked{mr::heap{}}.open(on::host{});
  std::atomic<void*> passed{nullptr};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, mine = resource]() mutable {
      for (int k = 0; k < 2000; ++k) {
        void* const taken = passed.exchange(mine.allocate(here, 100));
        mine.deallocate(here, taken, taken == nullptr ? 0 : 100);
      }
    });
  }
  for (auto& each : threads) { each.join(); }
  CHECK(resource.live_blocks().size() == 1);
  resource.deallocate(here, passed, 100);
  CHECK_NOTHROW(resource.verify());
  CHECK(resource.live_blocks().empty());
}

TEST_CASE("limited: the budget, the n-th call, and the words") {
  auto budget = test::limited{mr::heap{}, 2_KiB}.open(on::host{});
  void* const block = budget.allocate(here, 1_KiB);
  CHECK(test::message_of([&] { budget.allocate(here, 1025); }) ==
        "test::limited: no room for 1025 bytes: 1 KiB of max_bytes 2 KiB are live");
  CHECK(budget.live_bytes() == 1_KiB);
  void* const rest = budget.allocate(here, 1_KiB);
  budget.deallocate(here, block, 1_KiB);
  budget.deallocate(here, rest, 1_KiB);
  CHECK(budget.live_bytes() == 0);

  // A request that fails further up takes nothing from the budget.
  auto above = test::limited{test::limited<mr::heap>{.fail_at = 1}, 100}.open(on::host{});
  CHECK_THROWS_AS(above.allocate(here, 60), mr::out_of_memory);
  CHECK(above.live_bytes() == 0);
  above.deallocate(here, above.allocate(here, 60), 60);

  auto third = test::limited<mr::heap>{.fail_at = 3}.open(on::host{});
  auto copy = third;
  std::vector<void*> blocks{third.allocate(here, 8), copy.allocate(here, 8)};
  CHECK(test::message_of([&] { third.allocate(here, 8); }) ==
        "test::limited: allocation 3 fails as asked for (fail_at)");
  blocks.push_back(third.allocate(here, 8));
  for (void* const each : blocks) { third.deallocate(here, each, 8); }
}

TEST_CASE("poisoned: a fresh block reads as NaN") {
  auto resource = test::poisoned{mr::heap{}}.open(on::host{});
  auto const numbers = make_buffer<double>(100, here, resource);
  for (double const each : numbers.span()) { CHECK(each != each); }
}

TEST_CASE("a buffer gives back what it took, once") {
  auto resource = mr::counted{mr::heap{}}.open(on::host{});
  {
    auto first = make_buffer<int>(1000, here, resource);
    CHECK(first.size() == 1000);
    CHECK(first.bytes() == 4000);
    CHECK(resource.stats().live_bytes == 4000);
    auto second = std::move(first);
    CHECK(first.empty());
    CHECK(second.size() == 1000);
    second = make_buffer<int>(10, here, resource);
    CHECK(second.span().size() == 10);
    buffer<int, decltype(resource), host_stream> const empty{here, resource};
    CHECK(empty.data() == nullptr);
  }
  auto const stats = resource.stats();
  CHECK(stats.live_bytes == 0);
  CHECK(stats.allocations == 2);
  CHECK(stats.deallocations == 2);
  CHECK(test::message_of([&] { make_buffer<int>(std::size_t{1} << 62U, here, resource); }) ==
        "a buffer of 4611686018427387904 elements of 4 bytes exceeds the address space");
  static_assert(!std::is_copy_constructible_v<decltype(make_buffer<int>(1, here, resource))>);
}

TEST_CASE("threads that follow each other share an index, never a token") {
  auto const mine = mr::this_thread();
  mr::thread_identity first{}, second{};
  std::thread{[&] { first = mr::this_thread(); }}.join();
  std::thread{[&] { second = mr::this_thread(); }}.join();
  CHECK(first.index == second.index);
  CHECK(first.token != second.token);
  CHECK(mine.index != first.index);
  CHECK(mine.token == mr::this_thread().token);
}
