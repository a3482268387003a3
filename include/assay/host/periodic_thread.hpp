// SPDX-License-Identifier: Apache-2.0
/// @file
/// `periodic_thread`: a thread that calls a function once in each period.
#pragma once

#include <assay/core/requirements.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace assay::host {

/// A thread that calls a function at once and then once in each period, until the function returns
/// false. The destructor waits for a call that runs, and for nothing else.
class periodic_thread {
 public:
  periodic_thread(double period_seconds, std::function<bool()> call)
      : thread_([period = std::chrono::duration<double>(period_seconds),
                 call = std::move(call)](std::stop_token const& ended) {
          std::mutex guard;
          std::condition_variable_any wake;
          std::unique_lock lock{guard};
          while (call()) {
            // The result of the wait is no answer: libstdc++ 12 returns false for a stop that comes
            // between its two looks.
            (void)wake.wait_for(lock, ended, period, [&] { return ended.stop_requested(); });
            if (ended.stop_requested()) { return; }
          }
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace assay::host
