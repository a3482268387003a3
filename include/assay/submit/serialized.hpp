// SPDX-License-Identifier: Apache-2.0
/// @file
/// `submit::serialized`: threads that submit one at a time, under a mutex.
#pragma once

#include <assay/submit/threaded.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::submit {

/// Each thread submits its own items to its own lane, each item under one mutex for all.
///
/// Waiting for the mutex is part of an item's host time, and is told apart as `lock_wait`.
struct serialized {
  int threads = 4;
  int items = 100;             ///< of each thread
  bool sync_per_item = false;  ///< synchronise after each item, the mutex still held

  static constexpr std::string_view name = "submit::serialized";
  std::string describe() const { return describe_batch(name, threads, items, sync_per_item); }
  int lanes() const noexcept { return threads; }
  int batch_items() const noexcept { return threads * items; }

  /// See `submission_mode`; throws `std::invalid_argument` unless all counts are at least 1.
  template <any_lane Lane>
  threaded_runner<Lane, mutex_gate> open(std::vector<Lane> lanes) const {
    require_batch(name, threads, items, lanes.size());
    return {name.data(), std::move(lanes), items, sync_per_item};
  }

  bool operator==(serialized const&) const = default;
};
static_assert(submission_mode<serialized>);

}  // namespace assay::submit
