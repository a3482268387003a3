// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to verify_definitions.cuh: holds streams until both have work.
#pragma once

#include <assay/core/stream.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace assay::verify_detail {

/// Holds streams by a function on the host until `open`, or for 50 ms: a call that waits for its
/// stream would wait for ever.
class host_latch {
 public:
  host_latch() = default;
  host_latch(host_latch const&) = delete;
  host_latch& operator=(host_latch const&) = delete;
  ~host_latch() { open(); }

  void hold(stream const& first, stream const& second) {
    auto* const kept = new std::shared_ptr<gate>(gate_);
    auto const wait = [](void* of) {
      std::unique_ptr<std::shared_ptr<gate>> const held{static_cast<std::shared_ptr<gate>*>(of)};
      (*held)->wait();
    };
    if (auto const code = cudaLaunchHostFunc(first.get(), wait, kept); code != cudaSuccess) {
      delete kept;
      check(code);
    }
    held_.record(first);
    check(cudaStreamWaitEvent(second.get(), held_.get()));
  }
  void open() { gate_->open(); }

 private:
  struct gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_open = false;

    void wait() {
      std::unique_lock lock{mutex};
      changed.wait_for(lock, std::chrono::milliseconds{50}, [this] { return is_open; });
    }
    void open() {
      {
        std::lock_guard const lock{mutex};
        is_open = true;
      }
      changed.notify_all();
    }
  };

  std::shared_ptr<gate> gate_ = std::make_shared<gate>();
  event held_;
};

}  // namespace assay::verify_detail
