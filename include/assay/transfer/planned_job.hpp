// SPDX-License-Identifier: Apache-2.0
/// @file
/// `planned_job`: what `transfer::overlapped` remembers of a job between its runs.
#pragma once

#include <assay/transfer/overlap_pick.hpp>
#include <assay/transfer/plan_trials.hpp>
#include <assay/transfer/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <typeindex>
#include <utility>
#include <vector>

namespace assay::transfer {

/// A job is known by its sizes and the type of its `compute`.
struct planned_job {
  struct key {
    overlap_size size;
    double compute_seconds;
    std::type_index compute;
    bool operator==(key const&) const = default;
  };

  key of;
  double seconds_per_element = 0;
  int plans = 0;
  int sightings = 0;  ///< of the kernel's time, since the last plan
  std::uint64_t runs = 0;
  overlap_plan plan{};
  route by{};
  bool listed = false;  ///< whether there are plans to try
  std::vector<overlap_plan> list{};
  plan_trials trials{};
  std::optional<std::size_t> trying{};

  bool knows_kernel() const noexcept { return sightings >= 3; }
  /// Whether to time the kernel in this run: until its time is known, then now and then, since
  /// the events cost a short job what they tell.
  bool samples() noexcept { return ++runs % 64 == 1 || !knows_kernel(); }

  /// The first and the last chunk of at least half of the mean; -1 for the last where so few are
  /// between them that their time would be that of a beginning and an end.
  std::pair<int, int> timed() const {
    auto const& cut = by.cut;
    auto const mean = by.first.back() / static_cast<std::int64_t>(cut.chunks.size());
    auto const large = [&](std::int64_t each) { return 2 * each >= mean; };
    auto const first = std::find_if(cut.chunks.begin(), cut.chunks.end(), large);
    auto const last = std::find_if(cut.chunks.rbegin(), cut.chunks.rend(), large).base() - 1;
    constexpr std::ptrdiff_t fewest = 4;
    return {static_cast<int>(first - cut.chunks.begin()),
            last - first < fewest ? -1 : static_cast<int>(last - cut.chunks.begin())};
  }
  /// Elements of the chunks after `from`, up to `to`.
  std::int64_t elements_after(int from, int to) const {
    return to < 0 ? 0
                  : by.first[static_cast<std::size_t>(to) + 1] -
                        by.first[static_cast<std::size_t>(from) + 1];
  }
};

}  // namespace assay::transfer
