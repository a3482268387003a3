// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to mr::pool: what the pool's mutex guards, and waiting for work without it.
#pragma once

#include <assay/memory/thread_identity.hpp>
#include <assay/pool/central_allocator.hpp>
#include <assay/pool/pool_capture.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace assay::mr {

/// The parts of a pool behind its mutex.
template <pool_backend Backend>
class pool_parts {
 public:
  using stream_type = typename Backend::stream_type;
  using cache = stream_cache<Backend>;
  using capture_type = pool_capture<cache>;

  pool_parts(Backend backend, pool const& options)
      : backend_(std::move(backend)),
        options_(bounded(options)),
        central_(backend_, options_, mutex_) {
    watch_forks();
  }
  pool_parts(pool_parts const&) = delete;
  pool_parts& operator=(pool_parts const&) = delete;
  /// Waits for the device. In the child of a fork the memory is the parent's.
  ~pool_parts() {
    if (forked()) { return; }
    try {
      if (central_.reserved_bytes() > 0) { backend_.synchronize(); }
    } catch (...) {  // the device has failed: nothing runs on it any more
    }
    central_.clear();
  }

 protected:
  /// The pool's mutex, for one call. The stream of the call may be gone after it.
  class turn {
   public:
    explicit turn(pool_parts& of) : of_(of), lock_(of.mutex_) {}
    turn(turn const&) = delete;
    turn& operator=(turn const&) = delete;
    ~turn() { (void)of_.central_.streams().leave_present(); }

   private:
    pool_parts& of_;
    std::lock_guard<std::mutex> lock_;
  };

  /// The cache of a stream that is not captured. Needs the mutex.
  cache& resolve(stream_type stream) {
    cache* former = nullptr;
    auto& found = central_.streams().resolve(stream, &former);
    if (former != nullptr) { central_.flush(*former, 0); }
    return found;
  }

  /// Waits, without the mutex, for all work before the frees so far. One thread at a time does so:
  /// another's wait would end before this one's blocks are back.
  void wait_for_work() {
    std::lock_guard const alone{waiting_};
    std::vector<std::uint64_t> covered;
    typename central_allocator<Backend>::block_map parked;
    {
      turn const now{*this};
      covered = central_.streams().close_epochs();
      parked = central_.take_parked();
      central_.streams().hold_events(true);
    }
    try {
      backend_.synchronize();
    } catch (...) {
      turn const now{*this};
      central_.streams().hold_events(false);
      central_.park(parked);
      throw;
    }
    turn const now{*this};
    central_.streams().hold_events(false);
    central_.streams().complete(covered);
    for (auto const& [address, block] : parked) {
      central_.give_unused(address, size_class::sizes[block.class_index]);
    }
  }

  /// True in a child that was forked after the pool was made, where CUDA does not work.
  bool forked() const noexcept { return forks_ != forks(); }
  void refuse_fork() const {
    if (!forked()) [[likely]] { return; }
    throw std::logic_error(
        "mr::pool: allocate in a process that was forked after the pool was opened: CUDA does not "
        "work there. Fork first, or start the process by exec");
  }

  /// A block of a graph for its captured stream; 0 if there is none unless work ends, or if the
  /// capture has ended meanwhile. Needs the mutex.
  std::uintptr_t take_held(stream_key const& key, unsigned class_index) {
    auto const bytes = size_class::sizes[class_index];
    auto* hold = captures_.of(key);
    auto found = hold->reuse(class_index);
    bool const fresh = found == 0;
    if (fresh) {
      found = central_.acquire_unordered(bytes);
      if (found == 0) { return 0; }
      hold = captures_.of(key);
      if (hold == nullptr) {
        central_.give_unused(found, bytes);
        return 0;
      }
      try {
        hold->blocks.emplace(found, typename capture_type::block{class_index, true});
      } catch (...) {
        central_.give_unused(found, bytes);
        throw;
      }
    }
    captures_.count_live();
    std::lock_guard const held{hold->stream->lock};
    hold->stream->count_allocation(bytes);
    hold->stream->misses += fresh ? 1U : 0U;
    return found;
  }

  static pool bounded(pool options) noexcept {
    if (options.max_bytes == 0) { options.max_bytes = std::numeric_limits<std::size_t>::max(); }
    return options;
  }

  Backend backend_;
  pool const options_;
  std::uint64_t const forks_ = forks();
  capture_set<cache> captures_;
  std::mutex waiting_;            // never locked by a thread that holds `mutex_`
  alignas(64) std::mutex mutex_;  // apart from what every call reads
  central_allocator<Backend> central_;
};

}  // namespace assay::mr
