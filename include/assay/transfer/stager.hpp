// SPDX-License-Identifier: Apache-2.0
/// @file
/// `stager`: threads that copy pageable data through page-locked bounce buffers.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/place.hpp>
#include <assay/core/policy.hpp>
#include <assay/host/streaming_copy.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace assay::transfer {

/// The settings for staging pageable data; 0 is picked.
struct staging {
  /// Threads that copy. Picked: 8, which saturate the memory of most hosts, and no more than the
  /// host has.
  int threads = 0;
  /// The size of each bounce buffer. Each thread has two, and copies one while the other is on the
  /// link. A copy of 1 MiB takes ten times as long as its start, and all buffers
  /// together still fit the caches of a server's processor.
  std::size_t buffer_bytes = std::size_t{1} << 20U;
  bool operator==(staging const&) const = default;

  /// Adds the fields that are not at their defaults to a description.
  void show(parameter_list& to) const {
    staging const usual{};
    to.show("threads", threads, usual.threads)
        .show("buffer_bytes", buffer_bytes, usual.buffer_bytes);
  }

  /// Picks values for zeros; throws `std::invalid_argument` that names the field and its range.
  staging resolved() const {
    auto made = *this;
    if (threads < 0) {
      throw std::invalid_argument("staging: " + std::to_string(threads) +
                                  " threads are not possible: 0 (picked) or more are");
    }
    if (buffer_bytes < 4096) {
      throw std::invalid_argument("staging: buffer_bytes is " + std::to_string(buffer_bytes) +
                                  ", but must be at least 4096");
    }
    if (made.threads == 0) { made.threads = std::min(usable_cores(), 8); }
    return made;
  }
};

/// Copies between pageable host memory and the device through page-locked buffers. Its threads fill
/// and empty buffers while other buffers are on the link. Idle threads sleep; the destructor joins
/// them.
///
/// `Link` runs the copies: `cuda_link`, or the simulated device of the tests.
template <class Link>
class stager {
 public:
  using stream_type = typename Link::stream_type;
  using event_type = typename Link::event_type;

  /// The staged copies of one operation; must stay until they are finished or abandoned.
  struct staged_copies {
    event_type* event = nullptr;  ///< recorded once all copies are enqueued, if there is one
    int to_enqueue = 0;
    int to_finish = 0;
    std::exception_ptr failure{};
  };

  stager(Link link, staging const& how) : link_(std::move(link)), how_(how.resolved()) {
    auto const make = [&] {
      return buffer{link_.page_locked(how_.buffer_bytes), link_.make_event()};
    };
    for (int i = 0; i < how_.threads; ++i) { buffers_.push_back({{make(), make()}}); }
    try {
      for (auto& own : buffers_) {
        threads_.emplace_back([this, &own](std::stop_token const& ended) { work(own, ended); });
      }
    } catch (std::system_error const& refused) {
      throw std::runtime_error("cannot start " + std::to_string(how_.threads) +
                               " threads: " + refused.what());
    }
  }
  stager(stager const&) = delete;
  stager& operator=(stager const&) = delete;
  /// The threads do what was added before.
  ~stager() {
    threads_.clear();
    for (auto& own : buffers_) {  // the link may still read the last buffers
      for (auto& each : own.both) {
        if (each.in_flight) { link_.drain(each.event); }
      }
    }
  }

  /// Announces copies of this operation, until `close`.
  void open(staged_copies& of) {
    std::lock_guard const lock{mutex_};
    ++of.to_enqueue;
  }
  /// Lets threads copy from the host to the device, in the order of `queue`. The host's bytes may
  /// change once all copies are enqueued.
  void stage_in(staged_copies& of, stream_type queue, void* device, void const* host,
                std::size_t bytes) {
    add(of, queue, static_cast<std::byte*>(device),
        static_cast<std::byte*>(const_cast<void*>(host)), bytes, true);
  }
  /// Lets threads copy from the device, in the order of `queue`, to the host. The host has its
  /// bytes once all copies are finished.
  void stage_out(staged_copies& of, stream_type queue, void* host, void const* device,
                 std::size_t bytes) {
    add(of, queue, static_cast<std::byte*>(const_cast<void*>(device)),
        static_cast<std::byte*>(host), bytes, false);
  }
  void close(staged_copies& of, stream_type queue) {
    std::lock_guard const lock{mutex_};
    enqueued(of, queue);
  }

  /// Blocks until all copies of the operation are enqueued; throws the failure of one.
  void wait_enqueued(staged_copies& of) {
    std::unique_lock lock{mutex_};
    progress_.wait(lock, [&] { return of.to_enqueue == 0; });
    if (of.failure) { std::rethrow_exception(of.failure); }
  }
  /// Blocks until the host is done with all copies of the operation; throws the failure of one.
  void wait_finished(staged_copies& of) {
    std::unique_lock lock{mutex_};
    progress_.wait(lock, [&] { return of.to_enqueue == 0 && of.to_finish == 0; });
    if (of.failure) { std::rethrow_exception(of.failure); }
  }

  /// Drops the copies that no thread has begun, and waits for the rest.
  void abandon() noexcept {
    std::unique_lock lock{mutex_};
    pieces_.clear();
    progress_.wait(lock, [&] { return working_ == 0; });
  }

 private:
  using memory_type = decltype(std::declval<Link&>().page_locked(std::size_t{}));

  struct buffer {
    memory_type memory;
    event_type event;  ///< passes after its last copy
    bool in_flight = false;
  };
  /// The buffers of one thread, in turn.
  struct buffer_pair {
    std::array<buffer, 2> both;
    unsigned turn = 0;
    buffer& next() noexcept { return both[turn++ % 2]; }
  };
  struct piece {
    staged_copies* of;
    stream_type queue;
    std::byte* device;
    std::byte* host;
    std::size_t bytes;
    bool to_device;
  };

  void add(staged_copies& of, stream_type queue, std::byte* device, std::byte* host,
           std::size_t bytes, bool to_device) {
    constexpr std::size_t page = 4096;
    // All threads have several pieces: the link waits for the first piece, and the caller for the
    // last one. Below 128 KiB the start of a copy takes longer than its bytes.
    auto const wanted = bytes / static_cast<std::size_t>(4 * how_.threads) / page * page;
    auto const least = std::min(std::size_t{128} << 10U, how_.buffer_bytes);
    auto const step = std::clamp(wanted, least, how_.buffer_bytes);
    {
      std::lock_guard const lock{mutex_};
      for (std::size_t at = 0; at < bytes; at += step) {
        pieces_.push_back(
            {&of, queue, device + at, host + at, std::min(step, bytes - at), to_device});
        ++of.to_enqueue;
        ++of.to_finish;
      }
    }
    wake_.notify_all();
  }

  void work(buffer_pair& own, std::stop_token const& ended) noexcept {
    std::unique_lock lock{mutex_};
    while (wake_.wait(lock, ended, [&] { return !pieces_.empty(); })) {
      auto const next = pieces_.front();
      pieces_.pop_front();
      ++working_;
      lock.unlock();
      if (next.to_device) {
        stage_one_in(next, own.next());
      } else {
        stage_some_out(next, own);
      }
      lock.lock();
      --working_;
      progress_.notify_all();
    }
  }

  void stage_one_in(piece const& what, buffer& through) noexcept {
    nvtx_range const scope{"stage in", category::transfer, what.bytes};
    keep_failure(what, [&] {
      link_.bind_thread();
      if (std::exchange(through.in_flight, false)) { link_.synchronize(through.event); }
      std::memcpy(through.memory.get(), what.host, what.bytes);  // the device reads from the cache
      link_.copy(what.queue, what.device, through.memory.get(), what.bytes);
      link_.record(through.event, what.queue);
      through.in_flight = true;
    });
    std::lock_guard const lock{mutex_};
    enqueued(*what.of, what.queue);
    finished(*what.of);
  }

  /// Copies one piece out, and the pieces that follow it: the next piece is on the link while the
  /// thread copies one.
  void stage_some_out(piece first, buffer_pair& own) noexcept {
    auto* through = &own.next();
    begin_out(first, *through);
    for (;;) {
      auto const next = next_out();
      auto* const other = next ? &own.next() : nullptr;
      if (next) { begin_out(*next, *other); }
      finish_out(first, *through);
      if (!next) { return; }
      first = *next;
      through = other;
    }
  }

  void begin_out(piece const& what, buffer& through) noexcept {
    keep_failure(what, [&] {
      link_.bind_thread();
      if (std::exchange(through.in_flight, false)) { link_.synchronize(through.event); }
      link_.copy(what.queue, through.memory.get(), what.device, what.bytes);
      link_.record(through.event, what.queue);
      through.in_flight = true;
    });
    std::lock_guard const lock{mutex_};
    enqueued(*what.of, what.queue);
  }

  void finish_out(piece const& what, buffer& through) noexcept {
    nvtx_range const scope{"stage out", category::transfer, what.bytes};
    keep_failure(what, [&] {
      if (!std::exchange(through.in_flight, false)) { return; }  // it failed to begin
      link_.synchronize(through.event);
      host::streaming_copy(what.host, through.memory.get(), what.bytes);
    });
    std::lock_guard const lock{mutex_};
    finished(*what.of);
  }

  /// The next piece, if it leaves the device.
  std::optional<piece> next_out() noexcept {
    std::lock_guard const lock{mutex_};
    if (pieces_.empty() || pieces_.front().to_device) { return {}; }
    auto const found = pieces_.front();
    pieces_.pop_front();
    return found;
  }

  /// Calls `step` and keeps the first failure of the operation.
  template <class Step>
  void keep_failure(piece const& what, Step const& step) noexcept {
    try {
      step();
    } catch (...) {
      std::lock_guard const lock{mutex_};
      if (!what.of->failure) { what.of->failure = std::current_exception(); }
    }
  }

  // The rest is called with the mutex held.

  void enqueued(staged_copies& of, stream_type queue) noexcept {
    if (--of.to_enqueue > 0) { return; }
    if (of.event != nullptr) {
      try {
        link_.record(*of.event, queue);
      } catch (...) {
        if (!of.failure) { of.failure = std::current_exception(); }
      }
    }
    progress_.notify_all();
  }
  void finished(staged_copies& of) noexcept {
    if (--of.to_finish == 0) { progress_.notify_all(); }
  }

  Link link_;
  staging how_;
  std::deque<buffer_pair> buffers_;  ///< one for each thread
  std::mutex mutex_;
  std::condition_variable_any wake_;  ///< there are pieces
  std::condition_variable progress_;  ///< copies were enqueued or finished
  std::deque<piece> pieces_;
  int working_ = 0;
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace assay::transfer
