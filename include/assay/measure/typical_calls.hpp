// SPDX-License-Identifier: Apache-2.0
/// @file
/// The times of single launches: what a typical one takes, and how many are slow.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/stats/signed_rank.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace assay::measure {

/// Collects the times of launches that were timed one by one. A verdict is about mean times, and
/// this tells whether a few slow launches make the mean.
class typical_calls {
 public:
  explicit typical_calls(std::size_t variants = 0)
      : open_(variants), medians_(variants), slow_(variants), calls_(variants) {}

  /// Adds the launches of a cell to the open epoch. A second instance of the control has none.
  void add(std::size_t variant, std::vector<double> const& seconds) {
    if (variant >= open_.size()) { return; }
    open_[variant].insert(open_[variant].end(), seconds.begin(), seconds.end());
  }

  void drop_epoch() {
    for (auto& each : open_) { each.clear(); }
  }

  void close_epoch() {
    for (std::size_t v = 0; v < open_.size(); ++v) {
      double const median = stats::summarise(open_[v]).median;
      medians_[v].push_back(median);
      calls_[v] += open_[v].size();
      for (double const each : open_[v]) {
        if (each >= slow_from * median) { slow_[v].push_back(each); }
      }
    }
    drop_epoch();
  }

  /// The contrast of the log medians, as the median over epochs; NaN without single launches.
  double log_ratio(contrast const& by) const {
    std::vector<double> effects;
    for (std::size_t e = 0; !medians_.empty() && e < medians_.front().size(); ++e) {
      double sum = 0;
      for (std::size_t v = 0; v < medians_.size(); ++v) {
        if (by.weights[v] != 0) { sum += by.weights[v] * std::log(medians_[v][e]); }
      }
      effects.push_back(sum);
    }
    return stats::summarise(effects).median;
  }

  /// The share of launches that take at least half as long again as the median of their epoch, and
  /// their median seconds.
  void describe(std::size_t variant, variant_result& into) const {
    if (calls_[variant] == 0) { return; }
    into.slow_share =
        static_cast<double>(slow_[variant].size()) / static_cast<double>(calls_[variant]);
    into.slow_seconds = stats::summarise(slow_[variant]).median;
  }

 private:
  static constexpr double slow_from = 1.5;

  std::vector<std::vector<double>> open_;     // seconds in the open epoch, by variant
  std::vector<std::vector<double>> medians_;  // of closed epochs, by variant
  std::vector<std::vector<double>> slow_;     // seconds of slow launches, by variant
  std::vector<std::size_t> calls_;            // launches in closed epochs, by variant
};

}  // namespace assay::measure
