// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to `all_reduce`. The failures of kernels and of calls, and the word that ends all
/// waits.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/comm/all_reduce_error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

namespace assay::comm::detail {

/// Host memory that the kernels of all ranks read and write.
struct failure_words {
  failure of[max_ranks];  ///< by rank
  /// Other than 0, this word ends all waits of all ranks: a `stopped_by`. No kernel waits for the
  /// host to write it, so neither a stream nor a copy is needed to end a wait.
  unsigned stop;
};

enum class stopped_by : unsigned { nothing, kernel, call, abort };

/// The failures of an engine. Any thread may call the members.
class failure_board {
 public:
  explicit failure_board(failure_words& words) : words_(words) { clear(); }

  failure_words* words() const noexcept { return &words_; }

  /// Ends all waits of all ranks. Neither allocates nor calls CUDA. The first cause stays; true for
  /// the first.
  bool stop(stopped_by cause) noexcept {
    unsigned before = 0;
    return stop_word().compare_exchange_strong(before, static_cast<unsigned>(cause));
  }

  /// Throws the failure that has ended the waits. Failures of kernels go first: causes before the
  /// timeouts that follow from causes, and then by rank.
  void require_none(double timeout_seconds) const {
    auto const cause = static_cast<stopped_by>(stop_word().load());
    if (cause == stopped_by::nothing) { return; }
    int found = -1;
    for (int rank = 0; rank < max_ranks; ++rank) {
      auto const kind = kind_of(rank);
      if (kind == failure_kind::none) { continue; }
      if (found < 0 ||
          (kind != failure_kind::timed_out && kind_of(found) == failure_kind::timed_out)) {
        found = rank;
      }
    }
    if (found >= 0) { throw all_reduce_error(found, words_.of[found], timeout_seconds); }
    if (cause != stopped_by::call) { throw all_reduce_error(); }
    std::lock_guard const lock{mutex_};
    throw all_reduce_error(failed_call_, failed_reason_);
  }

  /// Makes one rank's call. An exception of the call ends all waits once another rank has been
  /// asked for the same operation. Until then the rank can repeat the call.
  ///
  /// Takes no lock while no call has thrown: ranks that are called from threads of their own share
  /// no line that one of them writes.
  template <class Call>
  void make_call(int rank, double timeout_seconds, Call const& call) {
    require_none(timeout_seconds);
    auto const r = static_cast<std::size_t>(rank);
    try {
      call();
    } catch (std::exception const& error) {
      std::lock_guard const lock{mutex_};
      reasons_[r] = error.what();
      has_reasons_.store(true);
      find_failed_call();
      throw;
    }
    auto const count = [&] {
      calls_[r].made.store(calls_[r].made.load(std::memory_order_relaxed) + 1);
    };
    if (has_reasons_.load()) {
      std::lock_guard const lock{mutex_};
      reasons_[r].clear();
      count();
      find_failed_call();
      has_reasons_.store(std::any_of(reasons_.begin(), reasons_.end(),
                                     [](std::string const& each) { return !each.empty(); }));
    } else {
      // A call that throws stores the word and then loads the counts; this one does both the other
      // way round. So one of the two finds the other.
      count();
      if (has_reasons_.load()) {
        std::lock_guard const lock{mutex_};
        find_failed_call();
      }
    }
    require_none(timeout_seconds);
  }

  /// True where ranks have been asked for an operation that another rank of `ranks` was not.
  bool awaits_a_call(int ranks) const {
    return std::any_of(calls_.begin(), calls_.begin() + ranks, [&](rank_calls const& each) {
      return each.made.load() != calls_.front().made.load();
    });
  }

  /// Waits for the devices of all ranks before the engine's memory goes. Ends all waits first where
  /// ranks have been asked for an operation and another was not, or where a device has failed, for
  /// which the others would wait without end. `failure(rank)` has the error of a device that has
  /// failed by now, and `wait(rank)` waits for the device; null: none. A failed device is named on
  /// stderr, since a destructor cannot throw.
  template <class Device, class Failure, class Wait>
  void end(int ranks, Device const& device, Failure const& failure, Wait const& wait) noexcept {
    if (awaits_a_call(ranks)) { stop(stopped_by::abort); }
    std::array<bool, max_ranks> named{};
    auto const look = [&](int rank, char const* error) {
      if (error == nullptr) { return; }
      stop(stopped_by::abort);
      if (std::exchange(named[static_cast<std::size_t>(rank)], true)) { return; }
      (void)std::fprintf(stderr,
                         "comm::all_reduce: device %d of rank %d has failed (%s): all waits are "
                         "ended, results are worthless\n",
                         device(rank), rank, error);
    };
    for (int rank = 0; rank < ranks; ++rank) { look(rank, failure(rank)); }
    for (int rank = 0; rank < ranks; ++rank) { look(rank, wait(rank)); }
  }

  void clear() {
    std::lock_guard const lock{mutex_};
    for (auto& each : words_.of) { each = {}; }
    for (auto& each : calls_) { each.made.store(0); }
    for (auto& each : reasons_) { each.clear(); }
    has_reasons_.store(false);
    stop_word().store(0);
  }

 private:
  /// A rank's calls, without those that threw. The rank's thread writes the count.
  struct alignas(64) rank_calls {
    std::atomic<std::uint64_t> made{0};
  };

  std::atomic_ref<unsigned> stop_word() const noexcept {
    return std::atomic_ref<unsigned>{words_.stop};
  }
  failure_kind kind_of(int rank) const {
    return static_cast<failure_kind>(static_cast<int const volatile&>(words_.of[rank].kind));
  }
  /// Ends the waits for a rank, if the last call of that rank threw.
  void find_failed_call() {
    std::uint64_t most = 0;
    for (auto const& each : calls_) { most = std::max(most, each.made.load()); }
    for (std::size_t rank = 0; rank < calls_.size(); ++rank) {
      if (reasons_[rank].empty() || calls_[rank].made.load() == most) { continue; }
      if (!stop(stopped_by::call)) { return; }
      failed_call_ = static_cast<int>(rank);
      failed_reason_ = reasons_[rank];
      return;
    }
  }

  failure_words& words_;
  mutable std::mutex mutex_;
  std::array<rank_calls, max_ranks> calls_{};   ///< by rank
  std::array<std::string, max_ranks> reasons_;  ///< by rank; empty unless the last call threw
  std::atomic<bool> has_reasons_{false};
  int failed_call_ = 0;  ///< a rank; its call ended the waits
  std::string failed_reason_;
};

}  // namespace assay::comm::detail
