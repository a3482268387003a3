// assay-test-timeout: 1800
// SPDX-License-Identifier: Apache-2.0
// Two pools under a storm of eight threads on a GPU: kernels look for their tag in every block that
// they wrote, while streams end without notice, graphs replay, and memory runs out. ASSAY_FULL=1
// makes ten million operations.
#include "catch.hpp"
#include "pool/tags.cuh"

#include <assay/core/units.hpp>
#include <assay/pool/pool.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::literals;
using test::expect, test::readable, test::write, test::wrong_count;

namespace {

constexpr on::device place{0};
constexpr int threads = 8;

/// What a storm did.
struct counts {
  std::atomic<std::uint64_t> operations{0};  ///< allocations and frees
  std::atomic<std::uint64_t> captures{0};
  std::atomic<std::uint64_t> replays{0};
  std::atomic<std::uint64_t> trims{0};
  std::atomic<std::uint64_t> ended{0};  ///< streams that were destroyed without notice
  std::atomic<std::uint64_t> full{0};   ///< requests that met a full pool
};

/// A live block.
struct block {
  void* data = nullptr;
  std::size_t bytes = 0;
  int stream = 0;  ///< 0: the thread's own, 1 to 3: shared, 4: the thread's default stream
  std::size_t pool = 0;
  unsigned tag = 0;
  bool looked_at() const { return tag % 8 == 0; }
};

/// What all threads share: streams, and blocks that wait for another thread to give them back.
struct common {
  std::vector<stream> streams;
  std::mutex mail_mutex;
  std::deque<block> mail;
};

/// One thread of a storm on pools of `Memory`.
template <class Memory>
class worker {
 public:
  worker(std::array<Memory, 2> pools, common& all, counts& done, wrong_count const& wrong,
         std::uint64_t seed, int number)
      : pools_(std::move(pools)),
        all_(all),
        done_(done),
        wrong_(wrong),
        random_(seed + static_cast<std::uint64_t>(number)),
        own_(place),
        tags_(static_cast<unsigned>(number + 1) << 24U) {}

  void run(std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; ++i) { step(); }
    while (!live_.empty()) { drop(live_.size() - 1); }
    graphs_.clear();
    done_.operations += operations_;
    check(cudaStreamSynchronize(cudaStreamPerThread));
    own_->synchronize();
  }

 private:
  /// A graph, and the hold on its blocks. Replays may be pending when both go.
  struct graph {
    decltype(std::declval<Memory&>().capture(std::declval<::cuda::stream_ref>())) hold;
    cudaGraphExec_t ready = nullptr;
    explicit graph(decltype(hold) kept) : hold(std::move(kept)) {}
    graph(graph const&) = delete;
    graph& operator=(graph const&) = delete;
    ~graph() {
      if (ready != nullptr) { check_noexcept(cudaGraphExecDestroy(ready)); }
    }
  };

  bool one_in(std::uint64_t n) { return random_() % n == 0; }

  ::cuda::stream_ref named(int which) const {
    if (which == 4) { return ::cuda::stream_ref{cudaStreamPerThread}; }
    return which == 0 ? *own_ : all_.streams[static_cast<std::size_t>(which - 1)];
  }

  void step() {
    if (one_in(30'000)) {
      (void)pools_[random_() % 2].trim();
      ++done_.trims;
    }
    if (one_in(20'000)) { end_own_stream(); }
    if (one_in(4'000)) { capture(); }
    if (!graphs_.empty() && one_in(400)) {
      check(cudaGraphLaunch(graphs_[random_() % graphs_.size()]->ready,
                            named(static_cast<int>(random_() % 4)).get()));
      ++done_.replays;
    }
    if (one_in(16)) { return take_mail(); }
    if (live_.size() > 48 || (!live_.empty() && one_in(2))) {
      drop(random_() % live_.size());
    } else {
      take();
    }
  }

  std::size_t some_bytes() {
    return one_in(16) ? 256 + random_() % 4_MiB : 256 + (random_() % 512 << random_() % 6);
  }

  void take() {
    block fresh;
    fresh.bytes = some_bytes();
    fresh.stream = one_in(2) ? 0 : static_cast<int>(random_() % 5);
    fresh.pool = random_() % 2;
    fresh.tag = ++tags_;
    try {
      fresh.data = pools_[fresh.pool].allocate(named(fresh.stream), fresh.bytes);
    } catch (mr::out_of_memory const&) {
      ++done_.full;
      while (!live_.empty()) { drop(live_.size() - 1); }
      return;
    }
    ++operations_;
    live_.push_back(fresh);
    // Blocks that are looked at hold their tag. Some others write, to be seen if they may not.
    if (fresh.tag % 8 < 2) { write(named(fresh.stream), fresh.data, fresh.bytes, fresh.tag); }
  }

  // Gives a block back here, on another stream after an event, or by another thread.
  void drop(std::size_t which) {
    auto const gone = live_[which];
    live_[which] = live_.back();
    live_.pop_back();
    bool const shared = gone.stream >= 1 && gone.stream <= 3;
    if (!shared || !one_in(4)) { return give_back(gone); }
    std::lock_guard const lock{all_.mail_mutex};
    all_.mail.push_back(gone);
  }
  void take_mail() {
    block found;
    {
      std::lock_guard const lock{all_.mail_mutex};
      if (all_.mail.empty()) { return; }
      found = all_.mail.front();
      all_.mail.pop_front();
    }
    give_back(found);
  }
  void give_back(block gone) {
    if (gone.looked_at() && one_in(2)) {
      int const other = static_cast<int>(random_() % 4);
      if (other != gone.stream) {
        handed_.record(named(gone.stream));
        check(cudaStreamWaitEvent(named(other).get(), handed_.get(), 0));
        gone.stream = other;
      }
    }
    auto const where = named(gone.stream);
    if (gone.looked_at()) {
      expect(where, gone.data, gone.bytes, gone.tag, wrong_,
             !test::small() && one_in(64) ? 200'000 : 0);
    }
    pools_[gone.pool].deallocate(where, gone.data, gone.bytes);
    ++operations_;
  }

  // Destroys the stream with work pending. Its handle may come back at once.
  void end_own_stream() {
    for (std::size_t i = live_.size(); i-- > 0;) {
      if (live_[i].stream == 0) { drop(i); }
    }
    own_.reset();
    own_.emplace(place);
    ++done_.ended;
  }

  void capture() {
    if (graphs_.size() == 3) { graphs_.pop_front(); }
    auto& memory = pools_[random_() % 2];
    auto fresh = std::make_unique<graph>(memory.capture(*own_));
    check(cudaStreamBeginCapture(own_->get(), cudaStreamCaptureModeThreadLocal));
    try {
      for (auto blocks = 1 + random_() % 4; blocks > 0; --blocks) {
        auto const bytes = some_bytes();
        void* const data = memory.allocate(*own_, bytes);
        write(*own_, data, bytes, ++tags_);
        expect(*own_, data, bytes, tags_, wrong_, test::small() ? 0 : 20'000);
        memory.deallocate(*own_, data, bytes);
        operations_ += 2;
      }
    } catch (mr::out_of_memory const&) { ++done_.full; }
    cudaGraph_t captured = nullptr;
    check(cudaStreamEndCapture(own_->get(), &captured));
    fresh->hold.end();
    check(cudaGraphInstantiate(&fresh->ready, captured, 0));
    check(cudaGraphDestroy(captured));
    graphs_.push_back(std::move(fresh));
    ++done_.captures;
  }

  std::array<Memory, 2> pools_;
  common& all_;
  counts& done_;
  wrong_count const& wrong_;
  std::mt19937_64 random_;
  std::optional<stream> own_;
  event handed_;
  unsigned tags_;
  std::uint64_t operations_ = 0;
  std::vector<block> live_;
  std::deque<std::unique_ptr<graph>> graphs_;
};

/// Runs a storm of about `operations` steps, and gives all blocks back.
template <class Memory>
void storm(std::array<Memory, 2> const& pools, std::uint64_t operations, counts& done,
           wrong_count const& wrong, std::uint64_t seed) {
  common all;
  for (int i = 0; i < 3; ++i) { all.streams.emplace_back(place); }
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      check(cudaSetDevice(place.id));
      worker<Memory>{pools, all, done, wrong, seed, i}.run(operations / threads);
    });
  }
  for (auto& each : running) { each.join(); }
  auto rest = pools;
  for (auto const& each : all.mail) {
    rest[each.pool].deallocate(all.streams[static_cast<std::size_t>(each.stream - 1)], each.data,
                               each.bytes);
    ++done.operations;
  }
  check(cudaDeviceSynchronize());
}

/// A resource that is wrong on purpose: what one stream gave back it hands to any other at once.
class out_of_order {
 public:
  explicit out_of_order(mr::pool_resource from) : state_(std::make_shared<state>(from)) {}
  void* allocate(::cuda::stream_ref stream, std::size_t bytes) {
    auto const size = std::bit_ceil(bytes);
    {
      std::lock_guard const lock{state_->mutex};
      auto& kept = state_->kept[size];
      if (!kept.empty()) {
        void* const found = kept.back();
        kept.pop_back();
        return found;
      }
    }
    return state_->from.allocate(stream, size);
  }
  void deallocate(::cuda::stream_ref, void* data, std::size_t bytes) {
    std::lock_guard const lock{state_->mutex};
    state_->kept[std::bit_ceil(bytes)].push_back(data);
  }
  auto capture(::cuda::stream_ref stream) { return state_->from.capture(stream); }
  std::size_t trim() { return 0; }

 private:
  struct state {
    explicit state(mr::pool_resource pool) : from(std::move(pool)) {}
    mr::pool_resource from;
    std::mutex mutex;
    std::map<std::size_t, std::vector<void*>> kept;
  };
  std::shared_ptr<state> state_;
};

/// A small number of steps under a sanitizer, the full one if it is asked for.
std::uint64_t steps() {
  if (test::small()) { return 4'000; }
  return std::getenv("ASSAY_FULL") != nullptr ? 11'000'000 : 500'000;
}

}  // namespace

TEST_CASE("a storm on two pools: no block is wrong, lost or leaked") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  wrong_count const wrong;
  counts done;
  constexpr std::size_t most = 24_MiB;  // the storm fills it now and then
  std::array const pools{
      readable({.max_bytes = most, .growth_bytes = 16_MiB, .stream_cache_bytes = 16_MiB})
          .open(place),
      readable({.max_bytes = most, .growth_bytes = 2_MiB, .stream_cache_bytes = 1_MiB})
          .open(place)};
  storm(pools, steps(), done, wrong, seed);
  CHECK(wrong.value() == 0);
  std::uint64_t lost = 0;
  std::uint64_t leaked = 0;
  stream const lane{place};
  for (auto memory : pools) {
    auto const stats = memory.stats();
    CHECK(stats.allocations == stats.deallocations);
    CHECK(*stats.reserved_bytes <= most);
    lost += stats.live_bytes;
    // What nobody holds any more is one block again, and goes back to the driver.
    void* const whole = memory.allocate(lane, most);
    memory.deallocate(lane, whole, most);
    memory.trim();
    leaked += *memory.stats().reserved_bytes;
  }
  CHECK(lost == 0);
  CHECK(leaked == 0);
  auto const number = [](std::atomic<std::uint64_t> const& of) {
    return static_cast<unsigned long long>(of.load());
  };
  std::printf(
      "%llu operations, %llu wrong, %llu bytes lost, %llu leaked; %llu captures, %llu "
      "replays, %llu trims, %llu streams ended, %llu times full\n",
      number(done.operations), wrong.value(), static_cast<unsigned long long>(lost),
      static_cast<unsigned long long>(leaked), number(done.captures), number(done.replays),
      number(done.trims), number(done.ended), number(done.full));
  if (std::getenv("ASSAY_FULL") != nullptr) { CHECK(done.operations >= 10'000'000); }
  if (!test::small()) {
    CHECK(done.captures > 0);
    CHECK(done.replays > 0);
    CHECK(done.trims > 0);
    CHECK(done.ended > 0);
    CHECK(done.full > 0);
  }
}

TEST_CASE("the storm catches a resource that gives blocks out too early") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  wrong_count const wrong;
  counts done;
  std::array const pools{out_of_order{readable({}).open(place)},
                         out_of_order{readable({}).open(place)}};
  storm(pools, test::small() ? 4'000 : 50'000, done, wrong, seed);
  CHECK(wrong.value() > 0);
}
