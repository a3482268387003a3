// SPDX-License-Identifier: Apache-2.0
/// @file
/// Functions that all modes use: checks of their fields, and the first failure of a batch.
#pragma once

#include <assay/submit/concepts.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

namespace assay::submit {

/// Throws unless the counts are positive, their product fits an `int`, and each thread has a lane:
/// an `std::invalid_argument` that names the mode, the field and its value.
void require_batch(std::string_view mode, int threads, int items, std::size_t lanes);

/// `NAME{threads=T, items=I}`, or `NAME{threads=T, items=I, sync_per_item}`.
std::string describe_batch(std::string_view mode, int threads, int items, bool sync_per_item);

/// The first failure of a batch. All threads stop before their next item then.
class failure {
 public:
  bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

  /// Calls `step` and returns true unless the call threw. The first exception of the batch becomes
  /// the failure of `item`, with `where` before its text.
  template <class Step>
  bool guard(int item, Step&& step, char const* where = "") noexcept {
    try {
      step();
      return true;
    } catch (...) {
      if (!taken_.exchange(true, std::memory_order_acq_rel)) {
        cause_ = std::current_exception();
        item_ = item;
        where_ = where;
      }
      stopped_.store(true, std::memory_order_release);
      return false;
    }
  }

  /// Throws `item_error` with the cause nested in it if a step failed. All threads must have
  /// stopped.
  void rethrow() const;

 private:
  std::exception_ptr cause_;
  int item_ = 0;
  char const* where_ = "";
  std::atomic<bool> taken_ = false;
  alignas(64) std::atomic<bool> stopped_ = false;
};

/// The `where` of a failure that the drain of a lane reports, perhaps of an earlier item.
inline constexpr char const* while_draining =
    "found when its lane was drained, so this or an earlier item of the lane: ";

}  // namespace assay::submit

#ifndef ASSAY_DECLARED
#include <assay/submit/batch_definitions.hpp>
#endif
