// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's book of streams: which shard is whose, and which frees precede which streams.
#pragma once

#include <assay/memory/pool_shard.hpp>
#include <assay/memory/range_heap.hpp>
#include <assay/memory/thread_identity.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace assay::mr {

/// A stream as a backend knows it: a number that no other stream of the process has or will have
/// (streams that every thread has one of may share theirs), and whether it is such a stream.
struct stream_identity {
  std::uint64_t id;
  bool per_thread;
};

/// Shards by stream, and the order among them. Guarded by the pool's mutex; takes the lock of one
/// shard at a time.
///
/// Each free happens in an epoch of its stream. `mark` closes an epoch and records the shard's one
/// event on the stream, which thereby comes after every free up to that epoch; who waits for it
/// remembers the epoch, and need not wait for those frees again. Epochs never go back, not even
/// when a shard passes to another stream, so an order that was true stays true.
template <class Backend>
class stream_book {
 public:
  using shard = pool_shard<Backend>;
  using stream_type = typename Backend::stream_type;
  enum class standing { passed, waitable, unknown };

  explicit stream_book(Backend& backend) : backend_(backend) {}
  stream_book(stream_book const&) = delete;
  stream_book& operator=(stream_book const&) = delete;
  ~stream_book() {
    for (auto const& each : shards_) {
      if (each->has_event) { backend_.destroy_event(each->event); }
    }
  }

  auto const& shards() const noexcept { return shards_; }
  std::uint64_t waits() const noexcept { return waits_; }

  /// The shard of a stream, made if it is new.
  shard& resolve(stream_type stream) {
    auto const who = backend_.identify(stream);
    auto const token = who.per_thread ? this_thread().token : 0;
    auto const [at, is_new] = by_id_.try_emplace({who.id, token}, nullptr);
    if (!is_new) { return *at->second; }
    try {
      auto* const found = vacant(stream);
      found->stream = stream;
      found->id = who.id;
      found->thread_token = token;
      found->open = true;
      at->second = found;
    } catch (...) {
      by_id_.erase(at);
      throw;
    }
    return *at->second;
  }

  /// Ends a shard's use by its stream, whose last frees an event covers.
  void close(shard& which) {
    mark(which);
    forget(which);
  }

  /// Ends a shard's use by a stream that nobody can name any more: only waiting for the device
  /// orders its last frees.
  void abandon(shard& which) {
    (void)next_epoch(
        which);  // so that its last frees are in a closed epoch, and not in a marked one
    forget(which);
  }

  /// Whether `point` comes before work submitted to `thief` from now on, or before now where that
  /// is null. `ask` lets it ask the device whether an event has passed.
  bool passed(shard const* thief, order_point point, bool ask) {
    auto& source = *shards_[point.shard];
    if (thief == &source || source.completed >= point.epoch) { return true; }
    if (thief != nullptr && thief->seen_of(point.shard) >= point.epoch) { return true; }
    if (!ask || source.event_epoch < point.epoch || !backend_.query(source.event)) { return false; }
    source.completed = source.event_epoch;
    return true;
  }

  /// How far `point` is behind `thief`: passed, or to be waited for, or nobody can say.
  standing of(shard const* thief, order_point point) {
    if (passed(thief, point, false)) { return standing::passed; }
    auto const& source = *shards_[point.shard];
    bool const waitable = source.event_epoch >= point.epoch || nameable(source);
    return waitable ? standing::waitable : standing::unknown;
  }

  /// Makes work submitted to `thief` from now on come after `point`, which is passed or waitable.
  void require(shard& thief, order_point point) {
    if (passed(&thief, point, false)) { return; }
    auto& source = *shards_[point.shard];
    if (thief.seen.size() < shards_.size()) { thief.seen.resize(shards_.size()); }
    if (source.event_epoch < point.epoch) { mark(source); }
    backend_.wait(thief.stream, source.event);
    thief.seen[point.shard] = source.event_epoch;
    ++waits_;
  }

  /// Whether this thread can record an event on the shard's stream: it is nobody else's default
  /// stream, its handle still means it, and it is not captured.
  bool nameable(shard const& which) const noexcept {
    if (!which.open || which.capturing()) { return false; }
    if (!which.nameable_here()) { return false; }
    try {
      return backend_.identify(which.stream).id == which.id && !backend_.capturing(which.stream);
    } catch (...) {
      return false;  // destroyed: the device will be waited for instead
    }
  }

  /// Records the shard's event, so that all frees so far come before it.
  void mark(shard& which) {
    if (!which.has_event) {
      which.event = backend_.make_event();
      which.has_event = true;
    }
    auto const covered = next_epoch(which);
    backend_.record(which.event, which.stream);
    which.event_epoch = covered;
  }

  /// Waits for all frees so far that an event can tell of: not those on streams that are captured,
  /// that went without `release`, or that are another thread's default stream. Disturbs no capture.
  void await_events() {
    for (auto const& each : shards_) {
      if (nameable(*each)) { mark(*each); }
    }
    for (auto const& each : shards_) {
      if (each->completed >= each->event_epoch) { continue; }
      backend_.await(each->event);
      each->completed = each->event_epoch;
    }
  }

  /// Waits for the device: every free so far has passed then, whoever's it was. False, and nothing
  /// is waited for, while a stream is captured: CUDA would refuse, and end the capture besides. (Of
  /// captures that the pool was not told of, only the refusal tells.)
  bool synchronize() {
    if (any_capturing()) { return false; }
    std::vector<std::uint64_t> covered(shards_.size());
    for (auto const& each : shards_) { covered[each->index] = next_epoch(*each); }
    if (!backend_.synchronize()) { return false; }
    for (auto const& each : shards_) { each->completed = covered[each->index]; }
    return true;
  }

 private:
  // By what `begin_capture` was told: the handles of streams may be gone, and a handle that is gone
  // must not be asked about, since the driver follows it.
  bool any_capturing() const {
    return std::any_of(shards_.begin(), shards_.end(),
                       [](auto const& each) { return each->open && each->capturing(); });
  }

  void forget(shard& which) {
    by_id_.erase({which.id, which.thread_token});
    which.open = false;
    which.state.fetch_add(2, std::memory_order_relaxed);
    which.user.store(0, std::memory_order_relaxed);
    closed_.push_back(&which);
  }

  static std::uint64_t next_epoch(shard& which) {
    auto const held = which.lock.take();
    return which.epoch++;
  }

  shard* vacant(stream_type stream) {
    for (auto at = closed_.begin(); at != closed_.end(); ++at) {
      auto& old = **at;
      std::uint64_t last = 0;
      {
        auto const held = old.lock.look();
        if (old.cached_bytes != 0) { continue; }
        last = old.epoch - 1;
      }
      // All its frees have passed, and with them all it waited for: what it has seen stays true.
      if (!passed(nullptr, {old.index, last}, true)) { continue; }
      closed_.erase(at);
      return &old;
    }
    closed_.reserve(shards_.size() + 1);  // so that `close` does not throw
    shards_.push_back(std::make_unique<shard>(static_cast<std::uint32_t>(shards_.size()), stream));
    return shards_.back().get();
  }

  Backend& backend_;
  std::vector<std::unique_ptr<shard>> shards_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, shard*> by_id_;
  std::vector<shard*> closed_;
  std::uint64_t waits_ = 0;
};

}  // namespace assay::mr
