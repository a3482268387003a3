// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::timed_resource`: the host time that a thread spends in a resource.
#pragma once

#include <assay/memory/request.hpp>

#include <chrono>
#include <cstddef>
#include <utility>

namespace assay::mr {

/// Adds the host time of each call to a counter of the calling thread. All resources of one type
/// share the counter.
///
/// A call costs two more reads of the steady clock, about 40 ns. Batches that measure wall time run
/// without this adaptor.
template <class Upstream>
class timed_resource : public adaptor_calls<timed_resource<Upstream>, Upstream> {
 public:
  explicit timed_resource(Upstream upstream) : upstream_(std::move(upstream)) {}

  /// Nanoseconds that this thread spent in calls. The caller sets the counter to 0.
  static double& nanoseconds_on_this_thread() noexcept {
    thread_local double nanoseconds = 0;
    return nanoseconds;
  }

  template <class Stream>
  void* allocate(Stream stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    stopwatch const running;
    return upstream_.allocate(stream, bytes, alignment);
  }

  template <class Stream>
  void deallocate(Stream stream, void* pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept {
    stopwatch const running;
    upstream_.deallocate(stream, pointer, bytes, alignment);
  }

  Upstream& upstream() noexcept { return upstream_; }
  Upstream const& upstream() const noexcept { return upstream_; }

  bool operator==(timed_resource const&) const = default;

 private:
  class stopwatch {
   public:
    stopwatch(stopwatch const&) = delete;
    stopwatch& operator=(stopwatch const&) = delete;
    stopwatch() = default;
    ~stopwatch() {
      nanoseconds_on_this_thread() +=
          std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin_)
              .count();
    }

   private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  };

  Upstream upstream_;
};

}  // namespace assay::mr
