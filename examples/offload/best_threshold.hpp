// SPDX-License-Identifier: Apache-2.0
/// @file
/// `best_threshold`: the threshold that no other one beats on the same calls.
#pragma once

#include <assay/dispatch/choose.hpp>
#include <assay/dispatch/costs.hpp>
#include <assay/measure/regret.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace assay::examples {

/// The best threshold in hindsight: it has the least time over the very calls that it is judged by.
/// So no threshold that is set beforehand does better.
inline dispatch::choose::threshold best_threshold(measure::timed_calls const& timed,
                                                  dispatch::costs const& of) {
  auto calls = timed.calls;
  std::sort(calls.begin(), calls.end(),
            [](auto const& a, auto const& b) { return a.known.amount.size < b.known.amount.size; });
  std::vector<std::vector<double>> before(of.paths().size());  // the time of all smaller calls
  for (std::size_t p = 0; p < before.size(); ++p) {
    before[p].push_back(0);
    for (auto const& each : calls) {
      before[p].push_back(before[p].back() + each.halves[0][p] + each.halves[1][p]);
    }
  }
  dispatch::choose::threshold best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t low = 0; low < before.size(); ++low) {
    for (std::size_t high = 0; high < before.size(); ++high) {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        auto const size = calls[i].known.amount.size;
        bool const splits_equals = i > 0 && calls[i - 1].known.amount.size == size;
        double const time = before[low][i] + before[high].back() - before[high][i];
        if (splits_equals || !(time < least)) { continue; }
        least = time;
        best = {size, of.paths()[low].where, of.paths()[high].where};
      }
    }
  }
  return best;
}

}  // namespace assay::examples
