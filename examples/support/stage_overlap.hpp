// SPDX-License-Identifier: Apache-2.0
/// @file
/// The overlap of the three stages of a transfer.
#pragma once

#include <assay/trace/intervals.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace assay::trace {

/// The working times of each stage of a transfer: copies to the device, kernels, copies to the
/// host.
using stage_spans = std::array<std::vector<span>, 3>;

/// The overlap of stages, in nanoseconds.
struct stage_overlap {
  std::int64_t extent_ns = 0;                ///< from the first beginning to the last end
  std::array<std::int64_t, 3> busy_ns{};     ///< of each stage
  std::array<std::int64_t, 4> at_once_ns{};  ///< zero to three stages worked at once
  std::int64_t duplex_ns = 0;                ///< copies both ways
  bool operator==(stage_overlap const&) const = default;

  /// The overlap fraction: of the time in which any stage worked, that in which two or three did.
  double fraction() const noexcept {
    auto const any = at_once_ns[1] + at_once_ns[2] + at_once_ns[3];
    return any == 0 ? 0
                    : static_cast<double>(at_once_ns[2] + at_once_ns[3]) / static_cast<double>(any);
  }
  /// The share of the whole time in which copies went both ways.
  double duplex_share() const noexcept {
    return extent_ns == 0 ? 0 : static_cast<double>(duplex_ns) / static_cast<double>(extent_ns);
  }
};

inline stage_overlap overlap_of(stage_spans const& of) {
  stage_overlap found;
  std::array<interval_set, 3> sets;
  std::vector<span> all;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    sets[i] = interval_set{of[i]};
    found.busy_ns[i] = sets[i].length();
    all.insert(all.end(), sets[i].parts().begin(), sets[i].parts().end());
  }
  auto const depths = time_at_depth(all);
  for (std::size_t depth = 0; depth < depths.size(); ++depth) {
    found.at_once_ns[depth] = depths[depth];
    found.extent_ns += depths[depth];
  }
  found.duplex_ns = (sets[0] & sets[2]).length();
  return found;
}

/// The times in which one copy engine moved bytes, sorted, from events round its copies on any
/// streams. A copy begins once its own first event has passed and the engine is done with the copy
/// before. It moves bytes after `overhead_ns`, since its stream reaches it before the engine does.
inline std::vector<span> engine_spans(std::vector<span> stamps, std::int64_t overhead_ns) {
  std::sort(stamps.begin(), stamps.end(), [](span const& a, span const& b) {
    return std::pair{a.end, a.begin} < std::pair{b.end, b.begin};
  });
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    auto const free = i == 0 ? stamps[i].begin : std::max(stamps[i].begin, stamps[i - 1].end);
    stamps[i].begin = std::min(stamps[i].end, free + overhead_ns);
  }
  return stamps;
}

/// The stages of a transfer as a trace has them, on one device; kernels of other work are counted
/// too, where the view has any.
inline stage_spans stages_of(view const& of, std::int32_t device) {
  stage_spans found;
  for (auto const row : of.kernels) {
    auto const& each = of.of().kernels[row];
    if (each.where.device == device) { found[1].push_back(each.when); }
  }
  for (auto const row : of.copies) {
    auto const& each = of.of().copies[row];
    auto const direction = direction_of(each.kind);
    if (each.where.device != device) { continue; }
    if (direction == copy_direction::to_device) { found[0].push_back(each.when); }
    if (direction == copy_direction::to_host) { found[2].push_back(each.when); }
  }
  return found;
}

}  // namespace assay::trace
