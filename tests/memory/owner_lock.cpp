// assay-test-timeout: 300
// SPDX-License-Identifier: Apache-2.0
// One thread at a time is inside, whoever owns the lock, on machines with and without the barrier.
#include "catch.hpp"

#include <assay/memory/owner_lock.hpp>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

using namespace assay;

namespace {

/// The machine's barrier, and how often it was run.
struct counted_barrier {
  static inline std::atomic<int> runs{0};
  static bool available() noexcept { return mr::process_barrier::available(); }
  static void run() noexcept {
    ++runs;
    mr::process_barrier::run();
  }
};

/// A machine without one.
struct no_barrier {
  static bool available() noexcept { return false; }
  static void run() noexcept { std::terminate(); }
};

/// Plain counters that only the lock guards.
template <class Barrier>
struct guarded {
  mr::owner_lock<Barrier> lock;
  alignas(64) std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t torn = 0;

  /// Stays inside for so many turns of the spin loop.
  void count(int turns = 0) {
    torn += first != second ? 1U : 0U;
    auto const next = ++first;
    for (int i = 0; i < turns; ++i) { config::cpu_relax(); }
    std::atomic_signal_fence(std::memory_order_seq_cst);  // two stores, not one
    second = next;
  }
  /// As the pool does: as its owner if possible.
  void use_once(int turns = 0) {
    auto& me = mr::this_thread();
    if (auto const held = lock.own(me)) {
      count(turns);
      return;
    }
    auto const held = lock.use(me);
    count(turns);
  }
  void use(std::uint32_t times = 1) {
    for (std::uint32_t i = 0; i < times; ++i) { use_once(); }
  }
  bool mine() const { return lock.owned_by(mr::this_thread()); }
};

using counted = guarded<counted_barrier>;
constexpr auto first_takes = mr::owner_lock<counted_barrier>::first_takes;

template <class F>
void elsewhere(F f) {
  std::thread{f}.join();
}

}  // namespace

TEST_CASE("a thread owns the lock once it has taken it often enough in a row") {
  counted at;
  at.use(first_takes - 1);
  CHECK_FALSE(at.mine());
  elsewhere([&] { at.use(); });
  at.use(first_takes - 1);
  CHECK_FALSE(at.mine());
  at.use();
  CHECK(at.mine() == counted_barrier::available());
  CHECK(at.first == 2 * first_takes);
}

TEST_CASE("without a barrier nobody owns") {
  guarded<no_barrier> at;
  at.use(10 * first_takes);
  CHECK_FALSE(at.mine());
  elsewhere([&] { auto const held = at.lock.take(); });
  elsewhere([&] { auto const held = at.lock.look(); });
  CHECK_FALSE(static_cast<bool>(at.lock.own(mr::this_thread())));
}

TEST_CASE("a thread takes from all that it owns without a barrier") {
  std::vector<counted> all(3);
  for (auto& each : all) { each.use(first_takes); }
  int const before = counted_barrier::runs;
  for (auto& each : all) {
    { auto const held = each.lock.take(); }
    { auto const held = each.lock.look(); }
    CHECK(each.mine() == counted_barrier::available());
  }
  CHECK(counted_barrier::runs == before);
}

TEST_CASE("who looks leaves the owner, who takes drives it out for twice as long") {
  if (!counted_barrier::available()) { return; }
  counted at;
  at.use(first_takes);
  int const before = counted_barrier::runs;
  elsewhere([&] { auto const held = at.lock.look(); });
  CHECK(at.mine());
  elsewhere([&] {
    auto const held = at.lock.take();
    CHECK_FALSE(static_cast<bool>(at.lock.owned_by(mr::this_thread())));
  });
  CHECK_FALSE(at.mine());
  CHECK(counted_barrier::runs == before + 2);
  elsewhere([&] { auto const held = at.lock.take(); });
  CHECK(counted_barrier::runs == before + 2);
  at.use(2 * first_takes - 1);
  CHECK_FALSE(at.mine());
  at.use();
  CHECK(at.mine());
}

TEST_CASE("the time without an owner has a bound") {
  if (!counted_barrier::available()) { return; }
  counted at;
  for (int i = 0; i < 15; ++i) {
    at.use(mr::owner_lock<counted_barrier>::most_takes);
    REQUIRE(at.mine());
    elsewhere([&] { at.use(); });
    REQUIRE_FALSE(at.mine());
  }
}

TEST_CASE("a lock whose owner has ended can be taken, and passes to who follows it") {
  counted at;
  std::size_t index = 0;
  elsewhere([&] {
    at.use(first_takes);
    index = mr::this_thread().index;
  });
  elsewhere([&] {
    CHECK(mr::this_thread().index == index);
    CHECK(at.mine() == counted_barrier::available());
    at.use();
  });
  at.use();
  CHECK(at.first == first_takes + 2);
  CHECK_FALSE(at.mine());
}

namespace {

/// Threads use, take and look for a while; every entry counts, and none may get lost. `rarely` is
/// the share of the threads' entries other than uses of their own lock: 1 in so many. An owner that
/// stays inside for some `turns` is caught there by who did not wait for it.
template <class Barrier>
void stress(int threads, std::uint64_t rarely, int turns, std::chrono::milliseconds limit) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed << ", " << threads << " threads, others' 1 in " << rarely);
  std::vector<guarded<Barrier>> all(static_cast<std::size_t>(threads));
  std::vector<std::atomic<std::uint64_t>> entries(all.size());
  auto const until = std::chrono::steady_clock::now() + limit;
  auto const work = [&](std::size_t number) {
    std::mt19937_64 random{seed + number};
    std::vector<std::uint64_t> done(all.size());
    while (std::chrono::steady_clock::now() < until) {
      for (int i = 0; i < 1000; ++i) {
        // The last thread has no lock of its own: it only disturbs.
        if (number + 1 < all.size() && random() % rarely != 0) {
          for (int k = 0; k < 8; ++k) { all[number].use_once(turns); }
          done[number] += 8;
          continue;
        }
        auto const which = random() % all.size();
        ++done[which];
        auto& lock = all[which].lock;
        switch (random() % 64) {
          case 0:
            all[which].use();
            break;
          case 1: {
            auto const held = lock.take();
            all[which].count();
            break;
          }
          default: {
            auto const held = lock.look();
            all[which].count();
          }
        }
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i) { entries[i] += done[i]; }
  };
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < all.size(); ++i) { running.emplace_back(work, i); }
  for (auto& each : running) { each.join(); }
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].first == entries[i]);
    CHECK(all[i].second == entries[i]);
    CHECK(all[i].torn == 0);
  }
}

}  // namespace

TEST_CASE("no entry is lost, with the machine's barrier") {
  using std::chrono::milliseconds;
  stress<mr::process_barrier>(2, 1000, 0, milliseconds{2000});
  stress<mr::process_barrier>(2, 100, 0, milliseconds{1000});
  stress<mr::process_barrier>(2, 1000, 20, milliseconds{4000});
  stress<mr::process_barrier>(4, 1000, 0, milliseconds{2000});
}

TEST_CASE("no entry is lost where nobody owns") {
  stress<no_barrier>(2, 100, 0, std::chrono::milliseconds{500});
  stress<no_barrier>(4, 100, 0, std::chrono::milliseconds{500});
}

TEST_CASE("no entry is lost while threads end and others follow them") {
  guarded<mr::process_barrier> at;
  std::uint64_t entries = 0;
  for (int i = 0; i < 300; ++i) {
    std::uint32_t const times = first_takes << static_cast<unsigned>(i % 6);
    std::thread one{[&] { at.use(times); }};
    if (i % 2 == 0) { at.use(times); }
    {
      auto const held = at.lock.look();
      at.count();
    }
    one.join();
    entries += 1 + times + (i % 2 == 0 ? times : 0);
  }
  CHECK(at.first == entries);
  CHECK(at.second == entries);
  CHECK(at.torn == 0);
}
