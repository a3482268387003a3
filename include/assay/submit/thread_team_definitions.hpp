// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to thread_team.hpp: the definitions of its functions.
#pragma once

#include <assay/core/platform.hpp>
#include <assay/submit/thread_team.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace assay::submit {
namespace detail {

/// Spins for 5 us, then yields for 100 us. Returns whether `done()` came true meanwhile.
template <class Done>
bool spin_while(Done const& done) {
  // 128 pauses are about 5 us, as long as a kernel launch takes. After 100 us another thread may
  // need the core, perhaps the thread that `done` waits for.
  for (int pauses = 0; pauses < 128; ++pauses) {
    if (done()) { return true; }
    config::cpu_relax();
  }
  auto const until = host_clock::now() + std::chrono::microseconds{100};
  do {
    std::this_thread::yield();
    if (done()) { return true; }
  } while (host_clock::now() < until);
  return false;
}

}  // namespace detail

/// The data that the threads share. A move of the team leaves it in place.
struct thread_team::state {
  ~state() {
    stop.store(true, std::memory_order_relaxed);
    round.fetch_add(1, std::memory_order_release);
    round.notify_all();
    for (auto& thread : threads) { thread.join(); }
  }

  /// One thread: sleeps, arrives and works in each round.
  void serve(int t) {
    for (int seen = 0;; ++seen) {
      for (int pauses = 0; pauses < 128 && round.load(std::memory_order_relaxed) == seen;
           ++pauses) {
        config::cpu_relax();
      }
      round.wait(seen, std::memory_order_acquire);
      if (stop.load(std::memory_order_relaxed)) { return; }
      begin_together(seen + 1);
      do_work(t);
    }
  }

  /// Threads take different times to wake. All begin when the last is awake.
  void begin_together(int now) {
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
      began = host_clock::now();
      go.store(now, std::memory_order_release);
      go.notify_all();
    } else if (!detail::spin_while([&] { return go.load(std::memory_order_acquire) == now; })) {
      go.wait(now - 1, std::memory_order_acquire);
    }
  }

  void do_work(int t) noexcept {
    try {
      (*work)(t);
    } catch (...) {
      if (!failed.exchange(true, std::memory_order_relaxed)) { why = std::current_exception(); }
    }
    if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) { running.notify_one(); }
  }

  /// Waits for the end of the round; rethrows the exception of a thread.
  void finish() {
    for (int left = running.load(std::memory_order_acquire); left != 0;
         left = running.load(std::memory_order_acquire)) {
      running.wait(left, std::memory_order_acquire);
    }
    if (failed.exchange(false, std::memory_order_relaxed)) {
      std::rethrow_exception(std::exchange(why, nullptr));
    }
  }

  int size = 0;
  work_of_thread const* work = nullptr;
  host_clock::time_point began;
  std::exception_ptr why;
  std::atomic<bool> failed = false;
  std::atomic<bool> stop = false;
  // libstdc++ waits for an int with a futex of its own. All threads write these four: each has a
  // cache line.
  alignas(64) std::atomic<int> round = 0;
  alignas(64) std::atomic<int> arrived = 0;
  alignas(64) std::atomic<int> go = 0;
  alignas(64) std::atomic<int> running = 0;
  std::vector<std::thread> threads;
};

ASSAY_INLINE thread_team::thread_team(int size, work_of_thread bind)
    : state_(std::make_unique<state>()) {
  state_->size = size;
  try {
    for (int t = 0; t < size; ++t) {
      state_->threads.emplace_back([shared = state_.get(), t] { shared->serve(t); });
    }
  } catch (std::system_error const& refused) {
    throw std::runtime_error("cannot start " + std::to_string(size) +
                             " threads: " + refused.what());
  }
  run(bind);
}
ASSAY_INLINE thread_team::thread_team(thread_team&&) noexcept = default;
ASSAY_INLINE thread_team& thread_team::operator=(thread_team&&) noexcept = default;
ASSAY_INLINE thread_team::~thread_team() = default;

ASSAY_INLINE host_clock::time_point thread_team::run(work_of_thread work) {
  auto& s = *state_;
  s.work = &work;
  s.arrived.store(0, std::memory_order_relaxed);
  s.running.store(s.size, std::memory_order_relaxed);
  s.round.fetch_add(1, std::memory_order_release);
  s.round.notify_all();
  s.finish();
  return s.began;
}

}  // namespace assay::submit
