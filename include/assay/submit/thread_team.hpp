// SPDX-License-Identifier: Apache-2.0
/// @file
/// `thread_team`: threads that are started once and begin each batch together.
#pragma once

#include <assay/core/requirements.hpp>

#include <chrono>
#include <memory>

namespace assay::submit {

/// The host clock of all batch times.
using host_clock = std::chrono::steady_clock;

inline double seconds_between(host_clock::time_point begin, host_clock::time_point end) noexcept {
  return std::chrono::duration<double>(end - begin).count();
}

inline double nanoseconds_between(host_clock::time_point begin,
                                  host_clock::time_point end) noexcept {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

/// Threads that sleep between batches and begin each batch together.
///
/// The constructor calls `bind(t)` once on each thread t and throws what any of them throws. A team
/// can be moved between batches. The destructor joins the threads.
class thread_team {
 public:
  /// A function of the number of a thread, which must outlive a call of `run`.
  class work_of_thread {
   public:
    template <class Work>
    work_of_thread(Work const& work)
        : it_(&work), call_([](void const* it, int t) { (*static_cast<Work const*>(it))(t); }) {}
    void operator()(int t) const { call_(it_, t); }

   private:
    void const* it_;
    void (*call_)(void const*, int);
  };

  thread_team(int size, work_of_thread bind);
  thread_team(thread_team&&) noexcept;
  thread_team& operator=(thread_team&&) noexcept;
  ~thread_team();

  /// Calls `work(t)` on every thread t at the same time and returns when the last call has
  /// returned. The result is the instant at which the calls began. Rethrows one exception if any
  /// call threw.
  host_clock::time_point run(work_of_thread work);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace assay::submit

#ifndef ASSAY_DECLARED
#include <assay/submit/thread_team_definitions.hpp>
#endif
