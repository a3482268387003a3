// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mpsc_queue`: a bounded lock-free queue from many threads to one.
#pragma once

#include <assay/core/requirements.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

namespace assay {

/// A ring of slots with room for `capacity` values; no call blocks.
///
/// Each slot has a turn number: 2k when round k may fill the slot, 2k + 1 when the slot holds the
/// value of round k (the sequence numbers of Vyukov's bounded queue). Values of one producer keep
/// their order. The writes of a producer before `try_push` are visible after the `try_pop` of that
/// value.
template <class T>
class mpsc_queue {
 public:
  explicit mpsc_queue(std::size_t capacity)
      : capacity_(capacity), slots_(std::make_unique<slot[]>(capacity)) {}

  /// False when the queue is full. From any thread.
  bool try_push(T value) noexcept {
    auto at = tail_.load(std::memory_order_relaxed);
    for (;;) {
      auto& here = slots_[at % capacity_];
      auto const mine = 2 * (at / capacity_);
      auto const turn = here.turn.load(std::memory_order_acquire);
      if (turn == mine) {
        if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
          here.value = value;
          here.turn.store(mine + 1, std::memory_order_release);
          return true;
        }
      } else if (turn < mine) {
        return false;  // still holds the value of the round before
      } else {
        at = tail_.load(std::memory_order_relaxed);  // another producer was faster
      }
    }
  }

  /// Nothing when the queue is empty. From one thread at a time.
  std::optional<T> try_pop() noexcept {
    auto& here = slots_[head_ % capacity_];
    auto const full = 2 * (head_ / capacity_) + 1;
    if (here.turn.load(std::memory_order_acquire) != full) { return std::nullopt; }
    T const value = here.value;
    here.turn.store(full + 1, std::memory_order_release);
    ++head_;
    return value;
  }

 private:
  // A line each: neighbours are written by different threads.
  struct alignas(64) slot {
    std::atomic<std::size_t> turn = 0;
    T value{};
  };

  std::size_t capacity_;
  std::unique_ptr<slot[]> slots_;
  alignas(64) std::atomic<std::size_t> tail_ = 0;
  alignas(64) std::size_t head_ = 0;
};

}  // namespace assay
