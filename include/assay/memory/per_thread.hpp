// SPDX-License-Identifier: Apache-2.0
/// @file
/// `per_thread`: one value for each thread.
#pragma once

#include <assay/memory/thread_identity.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

namespace assay::mr {

/// Values by thread index. A look-up is two loads. The first value of 64 neighbours allocates
/// all 64. `T` should fill whole cache lines. Values live as long as this object. A new thread
/// takes over the index and the value of a thread that ended.
template <class T>
class per_thread {
 public:
  static constexpr std::size_t most_threads = 65536;

  per_thread() = default;
  per_thread(per_thread const&) = delete;
  per_thread& operator=(per_thread const&) = delete;
  ~per_thread() {
    for (auto& place : segments_) { delete place.load(std::memory_order_relaxed); }
  }

  /// The value of a thread; null if it and its neighbours do not exist yet.
  T* find(std::size_t index) const noexcept {
    if (index >= most_threads) [[unlikely]] { return nullptr; }
    auto* const segment = segments_[index / in_segment].load(std::memory_order_acquire);
    return segment == nullptr ? nullptr : &(*segment)[index % in_segment];
  }

  /// The value of a thread, created if needed. Throws `std::length_error` past `most_threads`.
  T& at(std::size_t index) {
    if (auto* const found = find(index)) [[likely]] { return *found; }
    if (index >= most_threads) {
      throw std::length_error("thread " + std::to_string(index) + " is one too many: at most " +
                              std::to_string(most_threads) + " can be served at a time");
    }
    auto fresh = std::make_unique<segment_type>();
    segment_type* already = nullptr;
    if (segments_[index / in_segment].compare_exchange_strong(already, fresh.get(),
                                                              std::memory_order_acq_rel)) {
      already = fresh.release();
    }
    return (*already)[index % in_segment];
  }
  T& mine() { return at(this_thread().index); }

  /// Calls `f` with every value made so far.
  template <class F>
  void each(F f) const {
    for (auto const& place : segments_) {
      if (auto* const segment = place.load(std::memory_order_acquire)) {
        for (auto& value : *segment) { f(value); }
      }
    }
  }

 private:
  static constexpr std::size_t in_segment = 64;
  using segment_type = std::array<T, in_segment>;

  std::array<std::atomic<segment_type*>, most_threads / in_segment> segments_{};
};

}  // namespace assay::mr
