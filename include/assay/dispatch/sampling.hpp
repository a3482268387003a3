// SPDX-License-Identifier: Apache-2.0
/// @file
/// `calibrate_on`: measures paths at twelve sizes, and the copies of a device beside them.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/dispatch/bench.hpp>
#include <assay/dispatch/costs.hpp>
#include <assay/stats/random_source.hpp>

#include <cmath>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::dispatch {

/// The smallest and the largest size of calls.
struct size_range {
  std::size_t first = 1;
  std::size_t last = 1;

  void require() const {
    if (first >= 1 && last / 2 >= first) { return; }
    throw std::invalid_argument(
        concat({"sizes = {", std::to_string(first), ", ", std::to_string(last),
                "}: the first is 1 or more, and the last at least twice the first"}));
  }
  /// A size such that all octaves are as likely.
  std::size_t draw(stats::random_source& from) const {
    return at(static_cast<double>(from.next() >> 11U) * 0x1p-53);
  }
  /// Twelve sizes at the same distance in octaves, or all sizes of a short range. On the committed
  /// rows of the dispatch experiment twelve waste 0.2 % of the time, and six 2.4 %.
  std::vector<std::size_t> knots() const {
    constexpr int count = 12;
    std::vector<std::size_t> sizes;
    for (int i = 0; i < count; ++i) {
      auto const size = at(static_cast<double>(i) / (count - 1));
      if (sizes.empty() || sizes.back() != size) { sizes.push_back(size); }
    }
    return sizes;
  }

 private:
  std::size_t at(double share) const {
    auto const from = static_cast<double>(first);
    return static_cast<std::size_t>(
        std::round(from * std::pow(static_cast<double>(last) / from, share)));
  }
};

/// How a calibration samples: see `measure::calibration`.
struct sampling_options {
  size_range sizes;
  double budget_seconds = 2;
  std::function<void(double used, std::size_t next_size)> progress{};
};

/// Measures the paths of `found` by a bench.
///
/// Every size is measured at one moment, and then at more moments until the budget is used: a
/// machine may be slower for seconds. A budget that is too small for two moments widens intervals,
/// and is one of the warnings. A path with a wrong result has no curve. Throws
/// `std::invalid_argument` where every path has a wrong result.
costs calibrate_on(bench& with, measurements found, sampling_options const& options);

}  // namespace assay::dispatch

#ifndef ASSAY_DECLARED
#include <assay/dispatch/sampling_definitions.hpp>
#endif
