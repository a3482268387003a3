// SPDX-License-Identifier: Apache-2.0
/// @file
/// Small numbers for threads and processes: an index to find per-thread data, a token that never
/// comes back, and the forks of a process.
#pragma once

#include <assay/core/requirements.hpp>

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <queue>
#include <vector>

namespace assay::mr {

/// Who a thread is. `index` is dense: it goes to another thread once this one has ended, and what
/// the ended thread wrote is visible to its successor. `token` is unique for the process, never 0.
struct thread_identity {
  std::size_t index;
  std::uint64_t token;
};

namespace detail {

/// Hands out the lowest free index. It is never destroyed: threads may outlive static objects.
class thread_registry {
 public:
  static thread_registry& instance() {
    static auto* const only = new thread_registry;
    return *only;
  }
  thread_identity enter() {
    std::lock_guard const lock{mutex_};
    if (free_.empty()) {
      free_.push(count_);
      ++count_;
    }
    thread_identity const fresh{free_.top(), ++tokens_};
    free_.pop();
    return fresh;
  }
  void leave(std::size_t index) {
    std::lock_guard const lock{mutex_};
    free_.push(index);
  }

 private:
  std::mutex mutex_;
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free_;
  std::size_t count_ = 0;
  std::uint64_t tokens_ = 0;
};

// Constant-initialised and without a destructor, so that reading it is one load and no guard.
inline constinit thread_local thread_identity current_thread{0, 0};

inline constinit std::atomic<std::uint64_t> fork_count{0};

struct thread_exit {
  std::size_t index;
  ~thread_exit() {
    // Destructors of other thread-local objects may still allocate: those get a new identity, and
    // its index is not handed on.
    current_thread = {0, 0};
    thread_registry::instance().leave(index);
  }
};

[[gnu::noinline, gnu::cold]] inline thread_identity& enter_thread() {
  current_thread = thread_registry::instance().enter();
  thread_local thread_exit const at_exit{current_thread.index};
  (void)at_exit;
  return current_thread;
}

}  // namespace detail

/// The calling thread's identity.
inline thread_identity& this_thread() {
  auto& me = detail::current_thread;
  return me.token != 0 ? me : detail::enter_thread();
}

/// The forks that this process comes from, since it was first to watch them.
inline std::uint64_t forks() noexcept {
  return detail::fork_count.load(std::memory_order_relaxed);
}
inline void watch_forks() {
  [[maybe_unused]] static int const watched = pthread_atfork(
      nullptr, nullptr, [] { detail::fork_count.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace assay::mr
