// SPDX-License-Identifier: Apache-2.0
/// @file
/// Work of a device that lasts until the host lets it go.
#pragma once

#include <assay/core/stream.hpp>

#include <atomic>
#include <chrono>
#include <thread>

namespace assay::benchmark {

/// A host callback on a stream of its own, which waits to be let go. It gives up after ten seconds,
/// so that a call that waits for the device is seen, and does not hang.
class held_work {
 public:
  explicit held_work(on::device place) {
    stream const lane{place};  // ends here, and its work goes on
    check(cudaLaunchHostFunc(
        lane.get(),
        [](void* of) {
          auto& me = *static_cast<held_work*>(of);
          auto const end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
          while (!me.go_ && std::chrono::steady_clock::now() < end) { std::this_thread::yield(); }
          me.over_ = true;
        },
        this));
  }
  held_work(held_work const&) = delete;
  held_work& operator=(held_work const&) = delete;
  ~held_work() {
    let_go();
    while (!over_) { std::this_thread::yield(); }
  }
  void let_go() { go_ = true; }
  bool over() const { return over_; }

 private:
  std::atomic<bool> go_{false}, over_{false};
};

}  // namespace assay::benchmark
