// SPDX-License-Identifier: Apache-2.0
/// @file
/// `submit::sequential`: one thread, one lane.
#pragma once

#include <assay/submit/threaded.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::submit {

/// One thread submits all items to one lane, in order.
struct sequential {
  int items = 100;
  bool sync_per_item = false;  ///< synchronise with the lane after each item

  static constexpr std::string_view name = "submit::sequential";
  std::string describe() const {
    return std::string{name} + "{items=" + std::to_string(items) +
           (sync_per_item ? ", sync_per_item}" : "}");
  }
  int lanes() const noexcept { return 1; }
  int batch_items() const noexcept { return items; }

  /// See `submission_mode`; throws `std::invalid_argument` unless all counts are at least 1.
  template <any_lane Lane>
  threaded_runner<Lane, open_gate> open(std::vector<Lane> lanes) const {
    require_batch(name, 1, items, lanes.size());
    return {name.data(), std::move(lanes), items, sync_per_item};
  }

  bool operator==(sequential const&) const = default;
};
static_assert(submission_mode<sequential>);

}  // namespace assay::submit
