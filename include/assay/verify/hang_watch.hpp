// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to verify_definitions.hpp: ends the process where code of the caller does not end, and
/// names code that crashes.
#pragma once

#include <assay/verify/crash_note.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace assay::verify_detail {

/// Prints what runs and ends the process once code of the caller has taken longer than its limit.
class hang_watch {
 public:
  explicit hang_watch(double max_seconds)
      : max_seconds_(max_seconds), thread_([this] { watch(); }) {}
  hang_watch(hang_watch const&) = delete;
  hang_watch& operator=(hang_watch const&) = delete;
  ~hang_watch() {
    {
      std::lock_guard const lock{mutex_};
      ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  /// The size and the values that code of the caller gets from now on, and the end of a message
  /// that says how to repeat them.
  void set_case(std::string what, std::string repeat = {}) {
    case_ = std::move(what);
    repeat_ = std::move(repeat);
  }

  /// Runs code of the caller, which `who` names: "the factory".
  template <class Call>
  auto during(char const* who, Call const& call) {
    struct watched {
      hang_watch& by;
      ~watched() { by.set({}); }
    };
    set(case_ + ": " + who);
    watched const end{*this};
    return call();
  }

 private:
  using clock = std::chrono::steady_clock;

  void set(std::string what) {
    std::lock_guard const lock{mutex_};
    crash_.set(what, repeat_);
    what_ = std::move(what);
    begin_ = clock::now();
  }

  /// Wakes rarely, so that short calls cost a lock and no switch of threads.
  void watch() {
    std::chrono::duration<double> const limit{max_seconds_};
    std::unique_lock lock{mutex_};
    while (!ends_) {
      changed_.wait_for(lock, limit / 4);
      if (ends_ || what_.empty() || clock::now() - begin_ < limit) { continue; }
      (void)std::fprintf(stderr,
                         "assay::verify: %s did not end within %g s; later cases did not run; "
                         ".max_call_seconds allows it more%s\n",
                         what_.c_str(), max_seconds_, repeat_.c_str());
      std::_Exit(EXIT_FAILURE);
    }
  }

  double max_seconds_;
  crash_note crash_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string case_, repeat_;
  std::string what_;  // empty while no code of the caller runs
  clock::time_point begin_;
  bool ends_ = false;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace assay::verify_detail
