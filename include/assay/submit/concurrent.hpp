// SPDX-License-Identifier: Apache-2.0
/// @file
/// `submit::concurrent`: threads that submit at once, each to its own lane.
#pragma once

#include <assay/submit/threaded.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::submit {

/// Each thread submits its own items to its own lane; nothing but what they share in the driver and
/// in the memory resource holds them up.
struct concurrent {
  int threads = 4;
  int items = 100;             ///< of each thread
  bool sync_per_item = false;  ///< synchronise with the lane after each item

  static constexpr std::string_view name = "submit::concurrent";
  std::string describe() const { return describe_batch(name, threads, items, sync_per_item); }
  int lanes() const noexcept { return threads; }
  int batch_items() const noexcept { return threads * items; }

  /// See `submission_mode`; throws `std::invalid_argument` unless all counts are at least 1.
  template <any_lane Lane>
  threaded_runner<Lane, open_gate> open(std::vector<Lane> lanes) const {
    require_batch(name, threads, items, lanes.size());
    return {name.data(), std::move(lanes), items, sync_per_item};
  }

  bool operator==(concurrent const&) const = default;
};
static_assert(submission_mode<concurrent>);

}  // namespace assay::submit
