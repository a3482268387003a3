// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to mr::pool: the streams that the pool knows, and the order among their frees.
#pragma once

#include <assay/pool/range_heap.hpp>
#include <assay/pool/stream_cache.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace assay::mr {

/// A map from keys to caches with one writer at a time (the holder of the pool's mutex) and any
/// number of readers. A key keeps its entry, and handles of streams come back, so entries are few.
/// A cache that was found can belong to another stream by the time that its lock is held: the
/// reader compares the key once more under that lock.
template <class Cache>
class stream_lookup {
 public:
  Cache* find(std::uintptr_t key) const noexcept {
    auto* at = firsts_[hash(key)].load(std::memory_order_acquire);
    while (at != nullptr && at->key != key) { at = at->next; }
    return at == nullptr ? nullptr : at->cache.load(std::memory_order_acquire);
  }
  /// The place of a key's cache, made if there is none.
  std::atomic<Cache*>& at(std::uintptr_t key) {
    auto& first = firsts_[hash(key)];
    for (auto* at = first.load(); at != nullptr; at = at->next) {
      if (at->key == key) { return at->cache; }
    }
    auto& made = entries_.emplace_front(key, first.load());
    first.store(&made, std::memory_order_release);
    return made.cache;
  }

 private:
  struct entry {
    entry(std::uintptr_t of, entry* behind) noexcept : key(of), next(behind) {}
    std::uintptr_t const key;
    entry* const next;
    std::atomic<Cache*> cache{nullptr};
  };
  static constexpr unsigned bits = 10;

  static std::size_t hash(std::uintptr_t key) noexcept {
    return (key * 0x9E3779B97F4A7C15U) >> (64U - bits);
  }

  std::array<std::atomic<entry*>, 1U << bits> firsts_{};
  std::forward_list<entry> entries_;
};

/// Caches by stream, and the order among them. Guarded by the pool's mutex, but for `find` and
/// `event_due`; takes the lock of one cache at a time.
///
/// Each free happens in an epoch of its stream. `record_event` closes an epoch and records the
/// cache's one event on the stream, so the event comes after every free up to that epoch. A stream
/// that waits for the event remembers the epoch, and need not wait for those frees again. Epochs
/// never go back, not even when a cache passes to another stream, so an order that was true stays
/// true.
///
/// A stream that could have been destroyed must not be named. So the registry names the stream of
/// the current call alone (`present`), unless handles are trusted. Streams record events for others
/// when others ask for it: `call_for_events` makes every stream record one at its next free.
template <class Backend>
class stream_registry {
 public:
  using cache = stream_cache<Backend>;
  using stream_type = typename Backend::stream_type;

  stream_registry(Backend& backend, bool trust_handles)
      : backend_(backend), trust_handles_(trust_handles) {}
  stream_registry(stream_registry const&) = delete;
  stream_registry& operator=(stream_registry const&) = delete;
  ~stream_registry() {
    for (auto const& each : caches_) {
      if (each->event) { backend_.destroy_event(*each->event); }
    }
  }

  auto const& caches() const noexcept { return caches_; }
  std::uint64_t waits() const noexcept { return waits_; }

  /// The cache of a key at this moment; null if there is none. Needs no lock.
  cache* find(stream_key const& key) const noexcept { return lookup_.find(key.value); }

  /// True if an event is due at the next free of a cache. Needs the lock of the cache.
  bool event_due(cache const& of) const noexcept {
    return of.answered != calls_for_events_.load(std::memory_order_relaxed) ||
           streams_end_.load(std::memory_order_relaxed);
  }
  /// Asks all streams for an event at their next free.
  void call_for_events() noexcept { calls_for_events_.fetch_add(1, std::memory_order_relaxed); }

  /// Makes the cache of a stream, which is not captured, the present one. A cache of its key that
  /// served another stream becomes `*former`; its blocks must then be moved to the heap.
  cache& resolve(stream_type stream, cache** former) {
    auto const key = backend_.key(stream);
    auto* const found = lookup_.find(key.value);
    *former = nullptr;
    if (found != nullptr && found->open && found->key == key &&
        (trust_handles_ || found->id == backend_.identify(stream))) {
      present_ = found;
      return *found;
    }
    auto const id = backend_.identify(stream);
    auto& place = lookup_.at(key.value);
    backend_.require_own(stream);
    auto& fresh = vacant();
    if (found != nullptr) {
      abandon(*found);
      *former = found;
    }
    place.store(&fresh, std::memory_order_release);
    fresh.stream = stream;
    std::lock_guard const held{fresh.lock};
    fresh.key = key;
    fresh.id = id;
    fresh.open = true;
    fresh.answered = 0;
    present_ = &fresh;
    return fresh;
  }

  /// The cache of the stream that the current call was given; null where none is resolved.
  cache const* present() const noexcept { return present_; }
  /// Ends the call that named the present stream, or interrupts it until `come_back`.
  cache const* leave_present() noexcept {
    ++turn_;
    return std::exchange(present_, nullptr);
  }
  void come_back(cache const* present) noexcept { present_ = present; }

  /// Ends a cache's use by its stream, after an event that covers the last frees. While events are
  /// held, only a wait for the device covers them.
  void close(cache& of) {
    if (events_held()) {
      std::lock_guard const held{of.lock};
      ++of.epoch;  // the wait under way ends before the last frees
    }
    record_event(of);
    lookup_.at(of.key.value).store(nullptr, std::memory_order_release);
    forget(of);
  }

  /// True if `point` comes before work submitted to `consumer` from now on, or before now where
  /// that is null. `ask` lets it ask the device, once in a call, whether an event has passed.
  bool passed(cache const* consumer, order_point point, bool ask) {
    auto& source = *caches_[point.cache];
    if (consumer == &source || source.completed >= point.epoch) { return true; }
    if (consumer != nullptr && seen_of(*consumer, point.cache) >= point.epoch) { return true; }
    if (!ask || source.event_epoch < point.epoch) { return false; }
    if (std::exchange(source.asked_in, turn_) == turn_) { return false; }
    if (!backend_.query(*source.event)) { return false; }
    source.completed = source.event_epoch;
    return true;
  }

  /// The last epoch whose frees come before an event, or before now. Only such frees are points in
  /// the heap, so a stream can wait for each of these points, and the host need not.
  static std::uint64_t covered(cache const& of) noexcept {
    return std::max(of.event_epoch, of.completed);
  }

  /// Makes work submitted to `consumer` from now on come after `point`, which is `covered`.
  void require(cache& consumer, order_point point) {
    if (passed(&consumer, point, false)) { return; }
    auto& source = *caches_[point.cache];
    if (consumer.seen.size() < caches_.size()) { consumer.seen.resize(caches_.size()); }
    backend_.wait(*consumer.stream, *source.event);
    consumer.seen[point.cache] = source.event_epoch;
    ++waits_;
  }

  /// While events are held, `record_event` does nothing. Written under the pool's mutex.
  void hold_events(bool held) noexcept { held_.store(held, std::memory_order_relaxed); }
  bool events_held() const noexcept { return held_.load(std::memory_order_relaxed); }

  /// True if an event may be recorded on the cache's stream.
  bool nameable(cache const& of) const {
    if (&of == present_) { return true; }
    if (!trust_handles_ || !of.open || of.captured) { return false; }
    if (of.key.token != 0 && of.key.token != backend_.thread_token()) { return false; }
    return backend_.capturing(*of.stream) == capture_state::none;
  }

  /// Records the cache's event, so that all frees so far come before it. While events are held,
  /// these frees stay behind no event.
  void record_event(cache& of) {
    if (events_held()) { return; }
    if (!of.event) { of.event = backend_.make_event(); }
    auto const call = calls_for_events_.load(std::memory_order_relaxed);
    std::uint64_t covered = 0;
    std::size_t bytes = 0;
    {
      std::lock_guard const held{of.lock};
      covered = of.epoch++;
      bytes = std::exchange(of.uncovered_bytes, 0);
      of.answered = call;
    }
    try {
      backend_.record(*of.event, *of.stream);
    } catch (...) {
      std::lock_guard const held{of.lock};
      of.uncovered_bytes += bytes;
      throw;
    }
    of.event_epoch = covered;
  }

  /// True if a stream but `to` has frees that no event covers.
  bool uncovered_beside(cache const* to) {
    return std::any_of(caches_.begin(), caches_.end(), [&](auto const& each) {
      std::lock_guard const held{each->lock};
      return each.get() != to && each->uncovered_bytes > 0;
    });
  }

  /// Closes the epochs of all caches, for `complete` after a wait for the device.
  std::vector<std::uint64_t> close_epochs() {
    std::vector<std::uint64_t> covered(caches_.size());
    for (auto const& each : caches_) {
      std::lock_guard const held{each->lock};
      covered[each->index] = each->epoch++;
    }
    return covered;
  }
  void complete(std::vector<std::uint64_t> const& covered) noexcept {
    for (std::size_t i = 0; i < covered.size(); ++i) {
      auto& each = *caches_[i];
      each.completed = std::max(each.completed, covered[i]);
      std::lock_guard const held{each.lock};
      if (each.epoch == covered[i] + 1 && !each.open) { each.uncovered_bytes = 0; }
    }
  }

 private:
  static std::uint64_t seen_of(cache const& of, std::uint32_t other) noexcept {
    return other < of.seen.size() ? of.seen[other] : 0;
  }

  /// Ends a cache's use by a stream that cannot be named any more. Only a wait for the device
  /// orders the frees that no event covers. Such a free shows that streams end in this program, and
  /// from then on every free records an event.
  void abandon(cache& of) {
    bool uncovered = false;
    {
      std::lock_guard const held{of.lock};
      uncovered = of.uncovered_bytes > 0;
      of.epoch += uncovered ? 1 : 0;
    }
    if (uncovered) { streams_end_.store(true, std::memory_order_relaxed); }
    forget(of);
  }

  void forget(cache& of) noexcept {
    {
      std::lock_guard const held{of.lock};
      of.open = false;
      of.key = {};
    }
    closed_.push_back(&of);  // `vacant` has made room
  }

  /// A cache that serves no stream, made if there is none. Makes room in `closed_` for all caches.
  cache& vacant() {
    for (auto at = closed_.begin(); at != closed_.end(); ++at) {
      auto& old = **at;
      std::uint64_t last = 0;
      {
        std::lock_guard const held{old.lock};
        if (old.cached_bytes != 0 || !old.large.empty()) { continue; }
        last = old.epoch - 1;
      }
      if (!passed(nullptr, {old.index, last}, true)) { continue; }
      closed_.erase(at);
      std::lock_guard const held{old.lock};
      old.uncovered_bytes = 0;
      old.seen.clear();  // the next stream has waited for no other yet
      return old;
    }
    closed_.reserve(caches_.size() + 1);
    caches_.push_back(std::make_unique<cache>(static_cast<std::uint32_t>(caches_.size())));
    return *caches_.back();
  }

  Backend& backend_;
  bool const trust_handles_;
  std::vector<std::unique_ptr<cache>> caches_;
  std::vector<cache*> closed_;
  stream_lookup<cache> lookup_;
  cache const* present_ = nullptr;
  std::uint64_t turn_ = 1;
  std::atomic<std::uint64_t> calls_for_events_{0};
  std::atomic<bool> streams_end_{false};
  // A thread waits for the device. The driver may hold other threads' records of events back
  // meanwhile, and with them the pool's mutex.
  std::atomic<bool> held_{false};
  std::uint64_t waits_ = 0;
};

}  // namespace assay::mr
