// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::counted`: calls and bytes of any resource, counted without a shared cache line.
#pragma once

#include <assay/memory/latency_histogram.hpp>
#include <assay/memory/per_thread.hpp>
#include <assay/memory/request.hpp>
#include <assay/memory/stats.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace assay::mr {

/// How exactly the peak of live bytes is known: a thread may hold a promise of this many bytes
/// unused, so the peak is at most this much too large for each thread, and never too small. With 0
/// it is exact, and every call writes one cache line that all threads share.
///
/// The default is more than twice a column of some million doubles, so that one which comes and
/// goes stays within the promise, and no call of the steady state touches what threads share.
inline constexpr std::size_t default_peak_slack_bytes = std::size_t{64} << 20U;

/// Counts what goes through a resource. With `Timed` it also keeps the host time of each call, for
/// about 50 ns more per call.
///
/// Each thread counts in lines of its own. Peak: a thread is promised bytes, and only when its live
/// bytes leave [promise - slack, promise] is the common sum of promises changed; the largest sum is
/// the peak. The sum of the threads' own peaks is another upper bound, which makes the figure exact
/// where one thread allocates, and the smaller of the two is told.
template <class R, bool Timed = false>
class counted_resource : public adaptor_calls<counted_resource<R, Timed>, R> {
 public:
  explicit counted_resource(R upstream, std::size_t peak_slack_bytes = default_peak_slack_bytes)
      : upstream_(std::move(upstream)), state_(std::make_shared<state>(peak_slack_bytes)) {
    state_->base = of_upstream();
  }

  template <class Stream>
  void* allocate(Stream stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    auto& mine = state_->slots.mine();
    stopwatch const watch{mine.allocating};
    void* block = nullptr;
    try {
      block = upstream_.allocate(stream, bytes, alignment);
    } catch (...) {
      add(mine.failures, 1);
      throw;
    }
    add(mine.allocations, 1);
    auto const live = add(mine.bytes, bytes) - mine.freed_bytes.load(std::memory_order_relaxed);
    state_->rise(mine, static_cast<std::int64_t>(live));
    return block;
  }

  template <class Stream>
  void deallocate(Stream stream, void* block, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept {
    auto& mine = state_->slots.mine();
    stopwatch const watch{mine.deallocating};
    add(mine.deallocations, 1);
    auto const live = mine.bytes.load(std::memory_order_relaxed) - add(mine.freed_bytes, bytes);
    state_->fall(mine, static_cast<std::int64_t>(live));
    upstream_.deallocate(stream, block, bytes, alignment);
  }

  /// Counts since the last `reset()`, with what the upstream knows of itself; live bytes are since
  /// the beginning.
  statistics stats() const {
    auto now = of_upstream();
    state_->add_slots(now);
    auto const& base = state_->base;
    now.allocations -= base.allocations;
    now.deallocations -= base.deallocations;
    now.failures -= base.failures;
    now.bytes -= base.bytes;
    subtract(now.reused_blocks, base.reused_blocks);
    subtract(now.upstream_calls, base.upstream_calls);
    subtract(now.steals, base.steals);
    return now;
  }

  /// Starts the counts anew; the peak starts at what is live. No other thread may use the resource
  /// meanwhile.
  void reset() {
    state_->settle();
    auto now = of_upstream();
    state_->add_slots(now);
    state_->base = now;
  }

  /// Host times of calls on all threads since the last `reset()`.
  void merge_times(latency_histogram& allocating, latency_histogram& deallocating) const
  requires Timed
  {
    state_->slots.each([&](slot const& each) {
      allocating.merge(each.allocating);
      deallocating.merge(each.deallocating);
    });
  }

  R& upstream() noexcept { return upstream_; }
  R const& upstream() const noexcept { return upstream_; }
  bool operator==(counted_resource const&) const = default;

 private:
  using counter = std::atomic<std::uint64_t>;
  struct no_histogram {
    void clear() noexcept {}
  };
  using histogram = std::conditional_t<Timed, latency_histogram, no_histogram>;

  // Written by its own thread. Two lines, since processors fetch lines in pairs.
  struct alignas(128) slot {
    counter allocations{0}, deallocations{0}, failures{0}, bytes{0}, freed_bytes{0};
    std::atomic<std::int64_t> promised{0}, peak{0};
    [[no_unique_address]] histogram allocating;
    [[no_unique_address]] histogram deallocating;
  };

  class stopwatch {
   public:
    explicit stopwatch(histogram& into) noexcept : into_(into) {
      if constexpr (Timed) { begin_ = std::chrono::steady_clock::now(); }
    }
    stopwatch(stopwatch const&) = delete;
    stopwatch& operator=(stopwatch const&) = delete;
    ~stopwatch() {
      if constexpr (Timed) {
        auto const spent = std::chrono::steady_clock::now() - begin_;
        into_.add(static_cast<std::uint64_t>(std::chrono::nanoseconds{spent}.count()));
      }
    }

   private:
    histogram& into_;
    std::chrono::steady_clock::time_point begin_{};
  };

  // One writer, so no locked instruction.
  static std::uint64_t add(counter& to, std::uint64_t what) noexcept {
    auto const sum = to.load(std::memory_order_relaxed) + what;
    to.store(sum, std::memory_order_relaxed);
    return sum;
  }
  static void subtract(std::optional<std::uint64_t>& from,
                       std::optional<std::uint64_t> const& what) noexcept {
    if (from && what) { *from -= *what; }
  }

  statistics of_upstream() const {
    statistics found;
    if constexpr (requires { upstream_.stats(); }) {
      auto const below = upstream_.stats();
      found.reserved_bytes = below.reserved_bytes;
      found.reused_blocks = below.reused_blocks;
      found.upstream_calls = below.upstream_calls;
      found.steals = below.steals;
    }
    return found;
  }

  struct state {
    explicit state(std::size_t slack) : slack_bytes(static_cast<std::int64_t>(slack)) {}

    void rise(slot& mine, std::int64_t live) noexcept {
      if (live > mine.peak.load(std::memory_order_relaxed)) {
        mine.peak.store(live, std::memory_order_relaxed);
      }
      auto const promised = mine.promised.load(std::memory_order_relaxed);
      if (live <= promised) [[likely]] { return; }
      auto const more = live + slack_bytes / 2 - promised;
      mine.promised.store(promised + more, std::memory_order_relaxed);
      auto const sum = sum_of_promises.fetch_add(more, std::memory_order_relaxed) + more;
      auto most = largest_sum.load(std::memory_order_relaxed);
      while (sum > most &&
             !largest_sum.compare_exchange_weak(most, sum, std::memory_order_relaxed)) {}
    }
    void fall(slot& mine, std::int64_t live) noexcept {
      auto const promised = mine.promised.load(std::memory_order_relaxed);
      if (promised - live <= slack_bytes) [[likely]] { return; }
      auto const kept = live + slack_bytes / 2;
      mine.promised.store(kept, std::memory_order_relaxed);
      sum_of_promises.fetch_sub(promised - kept, std::memory_order_relaxed);
    }

    void add_slots(statistics& to) const {
      std::int64_t sum_of_peaks = 0;
      std::uint64_t freed = 0;
      slots.each([&](slot const& each) {
        to.allocations += each.allocations.load(std::memory_order_relaxed);
        to.deallocations += each.deallocations.load(std::memory_order_relaxed);
        to.failures += each.failures.load(std::memory_order_relaxed);
        to.bytes += each.bytes.load(std::memory_order_relaxed);
        freed += each.freed_bytes.load(std::memory_order_relaxed);
        sum_of_peaks += each.peak.load(std::memory_order_relaxed);
      });
      to.live_bytes = to.bytes - freed;
      to.peak_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(
          0, std::min(sum_of_peaks, largest_sum.load(std::memory_order_relaxed))));
    }

    void settle() {
      std::int64_t sum = 0;
      slots.each([&](slot& each) {
        auto const live =
            static_cast<std::int64_t>(each.bytes.load(std::memory_order_relaxed) -
                                      each.freed_bytes.load(std::memory_order_relaxed));
        each.promised.store(live, std::memory_order_relaxed);
        each.peak.store(live, std::memory_order_relaxed);
        each.allocating.clear();
        each.deallocating.clear();
        sum += live;
      });
      sum_of_promises.store(sum, std::memory_order_relaxed);
      largest_sum.store(sum, std::memory_order_relaxed);
    }

    std::int64_t const slack_bytes;
    per_thread<slot> slots;
    statistics base;
    alignas(128) std::atomic<std::int64_t> sum_of_promises{0};
    std::atomic<std::int64_t> largest_sum{0};
  };

  R upstream_;
  std::shared_ptr<state> state_;
};

/// Counts what goes through the resource that `upstream` opens.
template <class Policy, bool Timed = false>
struct counted {
  Policy upstream{};
  std::size_t peak_slack_bytes = default_peak_slack_bytes;

  static constexpr std::string_view name = "mr::counted";
  std::string describe() const {
    return parameter_list{}
        .show(assay::describe(upstream))
        .show("timed", Timed, false)
        .show("peak_slack_bytes", peak_slack_bytes, default_peak_slack_bytes, describe_bytes)
        .after(name);
  }
  template <class Place>
  requires memory_policy<Policy, Place>
  auto open(Place place) const {
    return counted_resource<resource_of<Policy, Place>, Timed>{upstream.open(place),
                                                               peak_slack_bytes};
  }
  bool operator==(counted const&) const = default;
};
template <class Policy>
counted(Policy) -> counted<Policy>;
template <class Policy>
counted(Policy, std::size_t) -> counted<Policy>;

}  // namespace assay::mr
