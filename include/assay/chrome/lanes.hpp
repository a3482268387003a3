// SPDX-License-Identifier: Apache-2.0
/// @file
/// `lanes`: assigns the spans of one track to lanes, so that any two spans of a lane are apart or
/// one in the other.
#pragma once

#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace assay::trace {

/// Assigns each span to the first lane that has room for it. The spans have to be ordered by begin,
/// and spans of equal begin by falling end.
class lanes {
 public:
  /// Adds the next span and returns its lane.
  std::size_t add(span when) {
    auto const near = std::min(open_.size(), searched);
    for (std::size_t i = 0; i < near; ++i) {
      if (fits(open_[i], when)) { return enter(i, when); }
    }
    // Beyond the first lanes only an empty one is looked for, in logarithmic time, since thousands
    // of spans that cross each other would take a search of thousands each.
    if (!ends_.empty() && ends_.top().first <= when.begin) {
      auto const lane = ends_.top().second;
      ends_.pop();
      open_[lane].clear();
      return enter(lane, when);
    }
    open_.emplace_back();
    return enter(open_.size() - 1, when);
  }

  std::size_t count() const noexcept { return open_.size(); }

 private:
  static constexpr std::size_t searched = 32;
  using end_of_lane = std::pair<std::int64_t, std::size_t>;

  static bool fits(std::vector<std::int64_t>& ends, span when) {
    while (!ends.empty() && ends.back() <= when.begin) { ends.pop_back(); }
    return ends.empty() || when.end <= ends.back();
  }
  std::size_t enter(std::size_t lane, span when) {
    open_[lane].push_back(when.end);
    if (lane >= searched) { ends_.emplace(when.end, lane); }
    return lane;
  }

  std::vector<std::vector<std::int64_t>> open_;  // the ends of open spans, innermost last
  std::priority_queue<end_of_lane, std::vector<end_of_lane>, std::greater<>> ends_;
};

}  // namespace assay::trace
