// SPDX-License-Identifier: Apache-2.0
/// @file
/// `worker_team`: threads that help one thread, and sleep between its calls.
#pragma once

#include <assay/core/thread_value.hpp>

#include <unistd.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

namespace assay::host {

/// The threads that help one thread with its parallel loops. They are started at the first call
/// that needs them, and end with the team. One thread calls `run` at a time.
///
/// Starting a thread costs more than waking one: benchmarks/parallel_for.cpp has both.
class worker_team {
 public:
  worker_team() = default;
  worker_team(worker_team const&) = delete;
  worker_team& operator=(worker_team const&) = delete;
  ~worker_team() {
    stop_ = true;  // every worker reads it after its next order
    for (auto& each : workers_) { each.order.set(); }
    for (auto& each : workers_) { each.thread.join(); }
  }

  /// The team of the calling thread, which ends with the thread. A process that was forked from the
  /// thread gets a new team: threads do not survive a fork. Destructors of static objects get a
  /// team that ends with the process.
  static worker_team& of_this_thread() {
    auto& team = detail::thread_value([] { return std::unique_ptr<worker_team, ender>{}; });
    if (team == nullptr || team->process_ != ::getpid()) { team.reset(new worker_team); }
    return *team;
  }

  /// Calls `part(0)` on the calling thread and `part(1)` to `part(parts - 1)` on one worker each;
  /// returns when all have returned. `part` must not throw. Throws `std::runtime_error` before any
  /// call where a thread cannot be started. `part(0)` may call `run`, which uses other threads.
  template <class Part>
  void run(int parts, Part const& part) {
    static_assert(noexcept(part(0)));
    if (is_running_) {  // a loop in part 0 of a loop
      if (inner_ == nullptr) { inner_ = std::make_unique<worker_team>(); }
      return inner_->run(parts, part);
    }
    grow(parts - 1);
    is_running_ = true;
    work_ = &part;
    call_ = [](void const* work, int number) { (*static_cast<Part const*>(work))(number); };
    for (int i = 0; i < parts - 1; ++i) { workers_[static_cast<std::size_t>(i)].order.set(); }
    part(0);
    for (int i = 0; i < parts - 1; ++i) { workers_[static_cast<std::size_t>(i)].done.take(); }
    is_running_ = false;
  }

 private:
  /// Leaves the team of another process as it is: threads of that process cannot be joined here.
  struct ender {
    void operator()(worker_team* team) const {
      if (team->process_ == ::getpid()) { delete team; }
    }
  };

  /// A flag that one thread sets and another takes. Not an atomic that waits: libstdc++ yields the
  /// core before such a wait sleeps, and on a busy machine gets it back milliseconds later.
  class signal {
   public:
    void set() {
      {
        std::lock_guard const lock{guard_};
        is_set_ = true;
      }
      changed_.notify_one();
    }
    void take() {
      std::unique_lock lock{guard_};
      changed_.wait(lock, [this] { return is_set_; });
      is_set_ = false;
    }

   private:
    std::mutex guard_;
    std::condition_variable changed_;
    bool is_set_ = false;
  };

  /// One thread. Only a worker that has an order reads what the team shares, so a call for two
  /// threads does not wait for the other workers to wake.
  struct alignas(64) worker {
    signal order;
    signal done;
    std::thread thread;
  };

  void grow(int size) {
    while (static_cast<int>(workers_.size()) < size) {
      auto const number = static_cast<int>(workers_.size()) + 1;
      auto& made = workers_.emplace_back();
      try {
        made.thread = std::thread{[this, &made, number] { serve(made, number); }};
      } catch (std::system_error const& refused) {
        workers_.pop_back();
        throw std::runtime_error("cannot start thread " + std::to_string(number) + " of " +
                                 std::to_string(size) + ": " + refused.what());
      }
    }
  }

  void serve(worker& me, int number) {
    for (;;) {
      me.order.take();
      if (stop_) { return; }
      call_(work_, number);
      me.done.set();
    }
  }

  ::pid_t process_ = ::getpid();
  bool is_running_ = false;
  bool stop_ = false;
  void const* work_ = nullptr;
  void (*call_)(void const*, int) = nullptr;
  std::deque<worker> workers_;  // a deque: workers stay where they are
  std::unique_ptr<worker_team> inner_;
};

}  // namespace assay::host
