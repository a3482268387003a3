// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's logic, over any backend: one fast path per stream, one mutex for everything else.
#pragma once

#include <assay/memory/pool_capture.hpp>
#include <assay/memory/pool_central.hpp>
#include <assay/memory/pool_ledger.hpp>
#include <assay/memory/pool_tables.hpp>
#include <assay/memory/stats.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::mr {

/// A stream-ordered pool.
///
/// Invariants:
///  1. A free block is in one place: a list of a shard (one shard per stream), a shard's queue of
///     remote frees, the central heap (large blocks' part, or slabs), a capture, or parked behind a
///     graph.
///  2. A block in a shard may be reused by work on that stream without further ado: its last use
///     comes before the `deallocate` call in the order of that stream.
///  3. A range of the heap carries points (shard, epoch); who takes it comes after all of them: the
///     same stream by (2), others by a wait for an event that was recorded after the free. One
///     event is recorded when a block is taken or a cache overflows, none when a block is freed;
///     `seen` remembers what a stream already comes after.
///  4. The lock of a shard is held for a few instructions, never together with another's and never
///     across a call of the backend. Order of locks: the pool's mutex, then one shard's.
///  5. The fast path (the thread's last stream, whose lock it owns; a block of the class is in its
///     list) is a few plain loads and stores: no locked instruction, no shared line, no call.
///  6. Frees from a thread that does not allocate on the stream go to a bounded lock-free queue.
///  7. A shard is never destroyed before the pool, epochs never go back, and its `state` changes
///     when its stream goes: a stale table entry or order point is harmless.
///  8. What a shard keeps is bounded by `stream_cache_bytes` (+ 16 MiB in its queue).
///  9. An exception leaves every block in one place: waits come before blocks are moved.
template <pool_backend Backend>
class pool_core {
 public:
  using stream_type = typename Backend::stream_type;
  using shard = pool_shard<Backend>;
  using capture_type = pool_capture<shard>;

  pool_core(Backend backend, pool_options const& options)
      : backend_(std::move(backend)),
        options_(options),
        plain_(!options.checked && !options.identify_always),
        ledger_(options.checked ? std::make_unique<pool_ledger>() : nullptr),
        central_(backend_, options_) {}

  /// Null for zero bytes. Throws `out_of_memory`, what the backend throws, and in checked mode
  /// `std::logic_error` with what was wrong with earlier frees.
  void* allocate(stream_type stream, std::size_t bytes) {
    if (bytes == 0) [[unlikely]] { return nullptr; }
    auto const which = size_class::of(bytes);
    auto* const me = this_thread_if_known();
    auto* const mine = recent(me, stream);
    if (mine != nullptr && which < size_class::count) [[likely]] {
      auto const found = mine->pop_as_owner(*me, which);
      if (found != 0) [[likely]] { return reinterpret_cast<void*>(found); }
    }
    if (ledger_ != nullptr) { return allocate_checked(stream, bytes, which); }
    return reinterpret_cast<void*>(allocate_class(stream, which));
  }

  /// Does not fail: a block that cannot be noted stays out of use until the pool goes.
  void deallocate(stream_type stream, void* block, std::size_t bytes) noexcept {
    if (block == nullptr) [[unlikely]] { return; }
    auto const address = reinterpret_cast<std::uintptr_t>(block);
    auto const which = size_class::of(bytes);
    auto* const me = this_thread_if_known();
    auto* const mine = recent(me, stream);
    if (mine != nullptr && !captures_.any_live()) [[likely]] {
      if (mine->push_as_owner(*me, address, which, options_.stream_cache_bytes)) { return; }
    }
    deallocate_any(stream, address, bytes, which);
  }

  /// Says that `stream` is about to be destroyed: its blocks may go to other streams, which will
  /// wait for its work so far. Throws `std::logic_error` while the stream is being captured.
  void release(stream_type stream) {
    std::lock_guard const lock{mutex_};
    auto& which = resolve(stream);
    if (which.capturing()) {
      throw std::logic_error("mr::pool: release of a stream that is being captured: end() first");
    }
    central_.flush(which, 0);
    central_.streams().close(which);
  }

  /// Gathers what streams keep, waits for the device, and returns free pieces of chunks (pages,
  /// where chunks are mapped) to upstream while the initial bytes stay. Says how many bytes that
  /// was. Throws `std::logic_error` where nothing can be returned unless the device is waited for,
  /// which a capture forbids.
  std::size_t trim() {
    std::lock_guard const lock{mutex_};
    central_.flush_all();
    central_.streams().await_events();
    bool const waited = central_.synchronize();
    auto const returned = central_.release_beyond(options_.initial_bytes);
    if (returned == 0 && !waited && central_.reserved_bytes() > options_.initial_bytes) {
      throw std::logic_error(
          "mr::pool: trim cannot wait for the device while a stream is being captured: trim before "
          "the capture begins, or after it has ended");
    }
    return returned;
  }

  /// Counts since the pool was opened. Sizes are those of blocks: up to 1/8 above what was asked
  /// for. `peak_bytes` is the most that was out of the central heap at one time: what was live, and
  /// what streams kept.
  statistics stats() {
    std::lock_guard const lock{mutex_};
    auto all = central_.count();
    all.failures = failures_;
    return all;
  }

  /// Waits enqueued on streams so far.
  std::uint64_t waits() {
    std::lock_guard const lock{mutex_};
    return central_.streams().waits();
  }

  /// Blocks that are live now; empty unless checked.
  std::vector<live_block> live_blocks() {
    return ledger_ == nullptr ? std::vector<live_block>{} : ledger_->live();
  }

  /// Throws `std::logic_error` with all that was found wrong with frees since the last call.
  void verify() {
    if (ledger_ != nullptr) { ledger_->verify(); }
  }

  /// From here to `end_capture` blocks for this stream come from the capture. Waits for the work of
  /// other streams so far, whose blocks can serve it then; not for the device: others may capture.
  std::unique_ptr<capture_type> begin_capture(stream_type stream) {
    std::lock_guard const lock{mutex_};
    auto& which = resolve(stream);
    if (which.capturing()) {
      throw std::logic_error("mr::pool: the stream is being captured already");
    }
    captures_.reserve_one();
    auto fresh = std::make_unique<capture_type>();
    fresh->stream = &which;
    central_.flush(which, 0);
    central_.streams().await_events();
    captures_.add(*fresh);
    which.state.fetch_add(1, std::memory_order_relaxed);
    return fresh;
  }

  void end_capture(capture_type& capture) noexcept {
    std::lock_guard const lock{mutex_};
    if (!std::exchange(capture.open, false)) { return; }
    capture.stream->state.fetch_sub(1, std::memory_order_relaxed);
  }

  /// The graph is gone: its blocks may be used again once the device has been waited for, which is
  /// now, or when memory is next needed and no stream is captured. Those still live stay so.
  void drop_capture(capture_type& capture) noexcept {
    end_capture(capture);
    std::lock_guard const lock{mutex_};
    captures_.remove(capture);
    central_.park(capture.blocks);
    try {
      (void)central_.synchronize();
    } catch (...) {  // the blocks stay parked, and the next wait tells what failed
    }
  }

  /// Blocks that could not be noted as free, and stay out of use until the pool goes.
  std::uint64_t unnoted_blocks() const noexcept {
    return unnoted_blocks_.load(std::memory_order_relaxed);
  }

  Backend& backend() noexcept { return backend_; }

 private:
  // The stream's shard if this thread, `me`, asked for it last.
  shard* recent(thread_record const* me, stream_type stream) const noexcept {
    return plain_ && me != nullptr ? tables_.find_recent(*me, backend_.key(stream)) : nullptr;
  }

  shard* known(thread_record& me, stream_type stream) {
    auto* const found = tables_.find(me, backend_.key(stream));
    if (found != nullptr && options_.identify_always && !found->capturing()) [[unlikely]] {
      return backend_.identify(stream).id == found->id ? found : nullptr;
    }
    return found;
  }

  [[gnu::noinline]] std::uintptr_t allocate_class(stream_type stream, unsigned which) {
    auto& me = this_thread();
    auto* const mine = known(me, stream);
    if (mine != nullptr && which < size_class::count) [[likely]] {
      if (!mine->lock.owned_by(me)) [[unlikely]] { mine->note_user(me); }
      auto const held = mine->lock.use(me);
      if (auto const found = mine->pop(which)) [[likely]] { return found; }
    }
    return allocate_slow(stream, which);
  }

  [[gnu::noinline]] std::uintptr_t allocate_slow(stream_type stream, unsigned which) {
    std::lock_guard const lock{mutex_};
    try {
      if (which >= size_class::count) {
        throw out_of_memory("mr::pool: no block is larger than " +
                            describe_bytes(size_class::bytes(size_class::count - 1)));
      }
      auto& mine = resolve(stream);
      if (mine.capturing()) { return allocate_captured(mine, which); }
      {
        auto const held = mine.lock.take();
        mine.drain();
        if (auto const found = mine.pop(which)) { return found; }
      }
      auto const found = central_.acquire(mine, which);
      auto const held = mine.lock.take();
      mine.count_allocation(size_class::bytes(which));
      ++mine.misses;
      return found;
    } catch (...) {
      ++failures_;
      throw;
    }
  }

  [[gnu::noinline]] void* allocate_checked(stream_type stream, std::size_t bytes, unsigned which) {
    verify();
    auto const address = allocate_class(stream, which);
    try {
      ledger_->opened(live_block{address, bytes, identity(stream), this_thread().token});
    } catch (...) {
      deallocate_class(stream, address, which);
      throw;
    }
    return reinterpret_cast<void*>(address);
  }

  [[gnu::noinline]] void deallocate_any(stream_type stream, std::uintptr_t address,
                                        std::size_t bytes, unsigned which) noexcept {
    try {
      if (ledger_ != nullptr && !ledger_->closed(address, bytes)) { return; }
      deallocate_class(stream, address, which);
    } catch (...) { unnoted_blocks_.fetch_add(1, std::memory_order_relaxed); }
  }

  void deallocate_class(stream_type stream, std::uintptr_t address, unsigned which) {
    auto& me = this_thread();
    auto* const mine = known(me, stream);
    if (mine == nullptr || captures_.any_live()) [[unlikely]] {
      return deallocate_slow(stream, address, which);
    }
    bool const remote = !mine->lock.owned_by(me) && mine->used_elsewhere(me);
    if (remote && mine->remote.push(address, which)) { return; }
    {
      auto const held = mine->lock.use(me);
      mine->push(address, which);
      if (mine->cached_bytes <= options_.stream_cache_bytes) { return; }
    }
    std::lock_guard const lock{mutex_};
    central_.flush(*mine, kept_bytes());
  }

  [[gnu::noinline]] void deallocate_slow(stream_type stream, std::uintptr_t address,
                                         unsigned which) {
    std::lock_guard const lock{mutex_};
    auto& mine = resolve(stream);
    if (captures_.strike(address)) {
      auto const held = mine.lock.take();
      mine.count_deallocation(size_class::bytes(which));
      return;
    }
    {
      auto const held = mine.lock.take();
      mine.push(address, which);
      if (mine.cached_bytes <= options_.stream_cache_bytes) { return; }
    }
    central_.flush(mine, kept_bytes());
  }

  std::uintptr_t allocate_captured(shard& mine, unsigned which) {
    auto const bytes = size_class::bytes(which);
    auto& capture = captures_.on(mine);
    auto found = capture.reuse(which);
    bool const fresh = found == 0;
    if (fresh) {
      found = central_.acquire_unordered(bytes);
      try {
        capture.blocks.emplace(found, typename capture_type::block{which, true});
      } catch (...) {
        central_.give_unused(found, bytes);
        throw;
      }
    }
    captures_.lived();
    auto const held = mine.lock.take();
    mine.count_allocation(bytes);
    mine.misses += fresh ? 1U : 0U;
    return found;
  }

  std::uint64_t identity(stream_type stream) {
    if (auto const* const mine = known(this_thread(), stream)) { return mine->id; }
    std::lock_guard const lock{mutex_};
    return resolve(stream).id;
  }

  // The shard of a stream, noted for this thread. A captured stream cannot be identified, but means
  // what it did. A handle that means another stream tells of one destroyed without `release`.
  shard& resolve(stream_type stream) {
    auto const key = backend_.key(stream);
    auto* const captured = captures_.find_open([&](shard const& each) {
      return backend_.key(each.stream) == key && each.nameable_here();
    });
    auto& found = captured != nullptr ? *captured : central_.streams().resolve(stream);
    auto* const former = tables_.find_any(this_thread(), key);
    if (former != nullptr && former != &found && former->open && !former->capturing()) {
      central_.streams().abandon(*former);
      central_.flush(*former, 0);
    }
    tables_.set(this_thread(), key, found, found.state.load(std::memory_order_relaxed) & ~1U);
    return found;
  }

  // So that not every free overflows.
  std::size_t kept_bytes() const noexcept { return options_.stream_cache_bytes / 4 * 3; }

  alignas(64) Backend backend_;
  pool_options const options_;
  bool const plain_;  // calls that need no more than a stream's list may be served from it at once
  std::unique_ptr<pool_ledger> const ledger_;
  capture_set<shard> captures_;
  shard_tables<shard> tables_;
  alignas(64) std::mutex mutex_;  // apart from what every call reads
  pool_central<Backend> central_;
  std::uint64_t failures_ = 0;
  std::atomic<std::uint64_t> unnoted_blocks_{0};
};

}  // namespace assay::mr
