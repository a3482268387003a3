// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to race/result.hpp: the definitions of its functions.
#pragma once

#include <assay/race/result.hpp>
#include <assay/race/text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

ASSAY_INLINE std::vector<std::string> racer::parameters() const {
  std::vector<std::string> names;
  for (auto const& each : constants) { names.push_back(each.first); }
  for (auto const& each : texts) { names.push_back(each.first); }
  return names;
}

ASSAY_INLINE std::string const& race_result::winner() const { return best().name; }
ASSAY_INLINE racer const& race_result::best() const {
  if (leader >= 0) { return racers[static_cast<std::size_t>(leader)]; }
  throw std::runtime_error("the race has no winner: " +
                           (failure.empty() ? "no epoch was run" : failure));
}
ASSAY_INLINE std::vector<std::string> race_result::survivors() const {
  std::vector<std::string> names;
  for (auto const i : order()) {
    if (racers[i].survived) { names.push_back(racers[i].name); }
  }
  return names;
}
ASSAY_INLINE std::vector<std::size_t> race_result::order() const {
  std::vector<std::size_t> all(racers.size());
  for (std::size_t i = 0; i < all.size(); ++i) { all[i] = i; }
  auto const key = [&](std::size_t i) {
    auto const& each = racers[i];
    int const group = static_cast<int>(i) == leader ? 0
                      : each.survived               ? 1
                      : each.out.empty()            ? 2
                                                    : 3;
    return std::pair{group, std::isfinite(each.ratio) ? each.ratio : 1e300};
  };
  std::stable_sort(all.begin(), all.end(), [&](auto a, auto b) { return key(a) < key(b); });
  return all;
}

ASSAY_INLINE std::ostream& operator<<(std::ostream& out, race_result const& of) {
  return out << report::race_text(of);
}

}  // namespace assay::measure
