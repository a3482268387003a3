// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::timed_resource`: how much host time a thread spends allocating and freeing.
#pragma once

#include <assay/memory/concepts.hpp>

#include <chrono>
#include <cstddef>
#include <utility>

namespace assay::mr {

/// Adds the host time of each call to a counter of the calling thread, which all resources of this
/// kind share.
///
/// Each call costs two reads of the steady clock more (about 40 ns), so timed batches run without
/// it.
template <class Upstream>
class timed_resource {
 public:
  explicit timed_resource(Upstream upstream) : upstream_(std::move(upstream)) {}

  /// Nanoseconds that this thread has spent in calls since it last set this to zero.
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

  template <class Stream>
  requires capturable_memory<Upstream, Stream>
  auto capture(Stream stream) {
    return upstream_.capture(stream);
  }

  /// For the stream's end, where the upstream wants to be told of it.
  template <class Stream>
  requires requires(Upstream& upstream, Stream stream) { upstream.release(stream); }
  void release(Stream stream) {
    upstream_.release(stream);
  }

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
