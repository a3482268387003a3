// SPDX-License-Identifier: Apache-2.0
/// @file
/// `periodic_thread`: a thread that calls a function once in each period.
#pragma once

#include <assay/core/requirements.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace assay::host {

/// A thread that calls a function at once and then once in each period, until the function returns
/// false. The destructor waits for a call that runs, and for nothing else.
class periodic_thread {
 public:
  periodic_thread(double period_seconds, std::function<bool()> call)
      : thread_(
            [this, period = std::chrono::duration<double>(period_seconds), call = std::move(call)] {
              while (call()) {
                std::unique_lock lock{guard_};
                if (wake_.wait_for(lock, period, [this] { return stop_; })) { return; }
              }
            }) {}
  periodic_thread(periodic_thread const&) = delete;
  periodic_thread& operator=(periodic_thread const&) = delete;
  ~periodic_thread() {
    {
      std::lock_guard const lock{guard_};
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  std::mutex guard_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace assay::host
