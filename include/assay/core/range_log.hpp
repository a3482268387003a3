// SPDX-License-Identifier: Apache-2.0
/// @file
/// `range_log`: what threads note of their ranges while a recording is on.
#pragma once

#include <assay/core/range_event.hpp>
#include <assay/core/range_thread.hpp>
#include <assay/core/tick_clock.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// The one log of the process. Idle it costs nothing; while a recording is on, every thread notes
/// its events in chunks of its own: no lock, and an allocation only every 64 KiB.
///
/// Events are stamped with the processor's counter where that is steady, a third of the cost of
/// the clock, and each thread notes both every tenth of a millisecond in which it notes anything:
/// so times are within some 30 ns of `realtime_ns`, and in order on each thread.
///
/// Names are copied, up to `longest_name` bytes. A recording is bounded: when `most_bytes` are
/// full, further ranges are dropped whole and counted; there is always room for the end of one that
/// was noted. Everything may be called from any thread, in destructors of static and thread-local
/// objects too. `Thread` is what it keeps of a thread.
template <class Thread>
class basic_range_log {
  using chunk_type = typename Thread::chunk_type;

 public:
  static constexpr std::size_t longest_name = 4000;
  static constexpr std::uint32_t default_domain = 0;
  static constexpr std::uint32_t own_domain = 1;  ///< `assay`

  static bool on() noexcept {
    return (detail::range_watchers.load(std::memory_order_relaxed) & detail::range_recorder) != 0;
  }

  /// What events are stamped with.
  enum class stamps { fastest, clock };

  /// Begins a recording. Throws `std::logic_error` if one is on.
  static void start(std::size_t most_bytes = std::size_t{256} << 20U, stamps by = stamps::fastest) {
    auto& all = shared();
    std::lock_guard const lock{all.mutex};
    if (on()) { throw std::logic_error("ranges are being recorded already: stop that first"); }
    prepare(all);
    all.bytes_left = static_cast<std::int64_t>(most_bytes);
    detail::dropped_ranges = 0;
    detail::ranges_begun_before = 0;
    detail::next_range_chunk = next_chunk;
    bool const ticks = by == stamps::fastest && ticks_are_steady();
    detail::stamps_are_ticks.store(ticks, std::memory_order_relaxed);
    all.begun = ticks ? tick_anchor::now(CLOCK_MONOTONIC) : tick_anchor{};
    if (++all.recordings == 0) { ++all.recordings; }
    detail::current_recording.store(all.recordings, std::memory_order_release);
    detail::range_watchers.fetch_or(detail::range_recorder);
  }

  /// Ends it and hands over what was noted; events that other threads are writing just now may or
  /// may not be among it.
  static range_recording stop() {
    auto& all = shared();
    std::lock_guard const lock{all.mutex};
    detail::range_watchers.fetch_and(~std::uint32_t{detail::range_recorder});
    detail::current_recording.store(0);
    bool const ticks = detail::stamps_are_ticks.load(std::memory_order_relaxed);
    auto const rate =
        ticks ? nanoseconds_per_tick(all.begun, tick_anchor::now(CLOCK_MONOTONIC)) : 0.0;
    range_recording made;
    for (auto& each : all.threads) {
      std::lock_guard const own{each->mutex};
      range_recording::thread_events taken;
      taken.thread = each->thread;
      taken.ns_per_tick = rate;
      for (auto& chunk : std::exchange(each->chunks, {})) {
        taken.chunks.emplace_back(chunk, chunk->published.load(std::memory_order_acquire));
      }
      if (!taken.chunks.empty()) { made.threads.push_back(std::move(taken)); }
    }
    std::erase_if(all.threads, [](auto const& each) { return each->ended; });
    made.domains = all.domains;
    made.thread_names = all.thread_names;
    made.dropped = detail::dropped_ranges;
    made.began_before = detail::ranges_begun_before;
    return made;
  }

  /// The number of a domain, the same for equal names.
  static std::uint32_t domain(std::string_view name) {
    auto& all = shared();
    std::lock_guard const lock{all.mutex};
    auto const known =
        std::find(all.domains.begin(), all.domains.end(), name) - all.domains.begin();
    auto const number = static_cast<std::size_t>(known);
    if (number == all.domains.size()) { all.domains.emplace_back(name); }
    return static_cast<std::uint32_t>(number);
  }

  static void name_thread(std::uint32_t thread, std::string_view name) {
    auto& all = shared();
    std::lock_guard const lock{all.mutex};
    all.thread_names.emplace_back(thread, name);
  }

  /// Notes the beginning of a range, or a `mark` or `start`; `event.at` is stamped here. False when
  /// there was no room: its end must then not be noted.
  static bool begin(range_event const& event) noexcept {
    auto const bytes = static_cast<std::uint16_t>(std::min(event.name.size(), longest_name));
    // Once a thread was refused room nothing more begins on it, so that ends can be told apart.
    bool const full = detail::my_ranges.refused != 0 &&
                      detail::my_ranges.refused == detail::current_recording.load();
    auto* const place =
        full ? nullptr : room(sizeof(detail::event_head) + sizeof(detail::event_body) + bytes);
    if (place == nullptr) {
      detail::dropped_ranges.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    constexpr auto behind = sizeof(detail::event_head) + sizeof(detail::event_body);
    detail::write_body(place + sizeof(detail::event_head), event);
    detail::copy_name(place + behind, event.name.data(), bytes);
    if (event.what == range_event::kind::push) { ++detail::my_ranges.depth; }
    auto const now = stamp(config::ticks_before);
    publish(place, {now, event.domain, bytes, event.what}, behind + bytes);
    keep_anchored(now);
    return true;
  }

  /// Notes that the last open push of this thread in `domain` ended.
  static void pop(std::uint32_t domain) noexcept {
    auto const now = stamp(config::ticks_after);
    auto& mine = detail::my_ranges;
    if (mine.depth > 0) { --mine.depth; }
    if (auto* const place = room(sizeof(detail::event_head))) {
      publish(place, {now, domain, 0, range_event::kind::pop}, sizeof(detail::event_head));
      keep_anchored(now);
    }
  }

  /// Notes that the `start` with this id ended.
  static void end(std::uint32_t domain, std::uint64_t id) noexcept {
    auto const now = stamp(config::ticks_after);
    if (auto* const place = room(sizeof(detail::event_head) + sizeof id)) {
      std::memcpy(place + sizeof(detail::event_head), &id, sizeof id);
      publish(place, {now, domain, 0, range_event::kind::end},
              sizeof(detail::event_head) + sizeof id);
      keep_anchored(now);
    }
  }

  /// Counts a range that ends without having been noted, since it began before the recording.
  static void count_began_before() noexcept {
    detail::ranges_begun_before.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  struct state {
    std::mutex mutex;
    std::vector<std::shared_ptr<Thread>> threads;
    std::vector<std::string> domains{"", "assay"};
    std::vector<std::pair<std::uint32_t, std::string>> thread_names;
    std::uint32_t recordings = 0;
    tick_anchor begun;
    std::mutex spare_mutex;  // taken last
    std::vector<std::unique_ptr<chunk_type>> spare;
    std::atomic<std::int64_t> bytes_left{0};
  };

  // Never destroyed: ranges may end in destructors of static objects.
  static state& shared() {
    static auto* const only = new state;
    return *only;
  }

  template <class Ticks>
  static std::int64_t stamp(Ticks ticks) noexcept {
    return detail::stamps_are_ticks.load(std::memory_order_relaxed) ? ticks() : realtime_ns();
  }

  /// Notes the time by the clock too, where the last such note is some 0.1 ms old. One that finds
  /// no room is left out: the events around are timed by those before.
  static void keep_anchored(std::int64_t now) noexcept {
    constexpr std::uint64_t ticks_between = 1 << 18;
    auto const age = static_cast<std::uint64_t>(now - detail::my_ranges.anchored);
    if (age > ticks_between) [[unlikely]] { anchor(now); }  // also when a counter was set back
  }
  [[gnu::noinline, gnu::cold]] static void anchor(std::int64_t now) noexcept {
    detail::my_ranges.anchored = now;
    if (!detail::stamps_are_ticks.load(std::memory_order_relaxed)) { return; }
    auto const both = tick_anchor::now(CLOCK_REALTIME);
    constexpr auto bytes = sizeof(detail::event_head) + sizeof both.at;
    if (auto* const place = room(bytes)) {
      std::memcpy(place + sizeof(detail::event_head), &both.at, sizeof both.at);
      publish(place, {both.ticks, 0, 0, detail::anchor_event}, bytes);
    }
  }

  static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + 7) & ~std::size_t{7};
  }

  /// Room for `bytes` at the end of this thread's chunk, with enough behind it for the ends of all
  /// its open ranges and one more; null when there is none.
  static std::byte* room(std::size_t bytes) noexcept {
    auto& mine = detail::my_ranges;
    auto const wanted = rounded(bytes) + (mine.depth + 1) * sizeof(detail::event_head);
    if (mine.recording != detail::current_recording.load(std::memory_order_acquire) ||
        mine.used + wanted > chunk_type::capacity) [[unlikely]] {
      auto* const next = detail::next_range_chunk.load(std::memory_order_relaxed);
      if (next == nullptr || !next(rounded(bytes))) { return nullptr; }
    }
    return mine.chunk->bytes.data() + mine.used;
  }

  static void publish(std::byte* place, detail::event_head const& head,
                      std::size_t bytes) noexcept {
    std::memcpy(place, &head, sizeof head);
    auto& mine = detail::my_ranges;
    mine.used += rounded(bytes);
    mine.chunk->published.store(mine.used, std::memory_order_release);
  }

  [[gnu::noinline, gnu::cold]] static bool next_chunk(std::size_t bytes) noexcept {
    auto& all = shared();
    auto& mine = detail::my_ranges;
    auto const recording = detail::current_recording.load(std::memory_order_acquire);
    if (recording == 0 || mine.thread_ended) { return false; }
    bool const same = mine.recording == recording;
    // The ends for which room was kept still find it in the chunk at hand.
    if (mine.refused == recording) { return same && ends_fit(bytes); }
    if (!same) { mine.depth = 0; }
    try {
      if (mine.owner == nullptr) { enter(all, mine); }
      constexpr auto size = static_cast<std::int64_t>(sizeof(chunk_type));
      if (all.bytes_left.fetch_sub(size) < size) {
        all.bytes_left.fetch_add(size);
        mine.refused = recording;
        return same && ends_fit(bytes);
      }
      auto fresh = take_chunk(all);
      std::lock_guard const lock{mine.owner->mutex};
      // `stop` changes the number before it takes the chunks: what comes later must not stay here.
      if (detail::current_recording.load() != recording) { return false; }
      mine.owner->chunks.push_back(fresh);
      mine.chunk = fresh.get();
      mine.owner->current = std::move(fresh);
      mine.used = 0;
      if (!same) { mine.anchored = 0; }
      mine.recording = recording;
      return true;
    } catch (...) {  // no memory: as when the recording is full
      mine.refused = recording;
      return same && ends_fit(bytes);
    }
  }

  // First touches cost a page fault for every 60 ranges, some 20 ns each, so that the first chunks
  // of a recording are touched before it, and used ones kept.
  static constexpr std::size_t spare_chunks = 64;

  static void prepare(state& all) {
    std::lock_guard const lock{all.spare_mutex};
    all.spare.reserve(spare_chunks);
    while (all.spare.size() < spare_chunks) {
      all.spare.push_back(std::make_unique<chunk_type>());
      all.spare.back()->bytes.fill(std::byte{1});
    }
  }

  static std::shared_ptr<chunk_type> take_chunk(state& all) {
    std::unique_ptr<chunk_type> chunk;
    if (std::lock_guard const lock{all.spare_mutex}; !all.spare.empty()) {
      chunk = std::move(all.spare.back());
      all.spare.pop_back();
    }
    if (chunk == nullptr) { chunk.reset(new chunk_type); }  // not cleared
    chunk->published.store(0, std::memory_order_relaxed);
    return {chunk.release(), [&all](chunk_type* old) {
              std::unique_ptr<chunk_type> used{old};
              std::lock_guard const lock{all.spare_mutex};
              if (all.spare.size() < all.spare.capacity()) { all.spare.push_back(std::move(used)); }
            }};
  }

  static bool ends_fit(std::size_t bytes) noexcept {
    auto const& mine = detail::my_ranges;
    return bytes == sizeof(detail::event_head) && mine.used + bytes <= chunk_type::capacity;
  }

  static void enter(state& all, detail::range_cursor& mine) {
    struct at_exit {
      ~at_exit() {
        auto& gone = detail::my_ranges;
        if (gone.owner != nullptr) {
          std::lock_guard const lock{shared().mutex};
          gone.owner->current.reset();
          gone.owner->ended = true;
        }
        gone = {};
        gone.thread_ended = true;
      }
    };
    auto fresh = std::make_shared<Thread>();
    fresh->thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    {
      std::lock_guard const lock{all.mutex};
      all.threads.push_back(fresh);
    }
    mine.owner = fresh.get();
    thread_local at_exit const leave;
    (void)leave;
  }
};

/// A template, so that what only a recording needs is only compiled where there is one.
using range_log = basic_range_log<detail::range_thread>;

}  // namespace assay
