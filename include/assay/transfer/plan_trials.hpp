// SPDX-License-Identifier: Apache-2.0
/// @file
/// `plan_trials`: which of a few plans is the fastest, by the times of a job's own runs:
/// arithmetic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace assay::transfer {

/// Deals runs over plans in turn until each has `repeats` times, then knows the fastest by their
/// medians. The first plan stays unless another is faster by more than `margin`: between plans that
/// are alike the model's word counts, not luck.
template <class Seconds = double>
class basic_plan_trials {
 public:
  static constexpr double margin = 0.005;

  basic_plan_trials() = default;
  basic_plan_trials(std::size_t plans, int repeats)
      : seconds_(plans), repeats_(static_cast<std::size_t>(std::max(1, repeats))) {}

  /// The plan whose time is wanted; nothing once all are known, or with fewer than two plans.
  std::optional<std::size_t> wanted() const {
    if (seconds_.size() < 2) { return {}; }
    std::size_t fewest = 0;
    for (std::size_t i = 1; i < seconds_.size(); ++i) {
      if (seconds_[i].size() < seconds_[fewest].size()) { fewest = i; }
    }
    if (seconds_[fewest].size() >= repeats_) { return {}; }
    return fewest;
  }

  void add(std::size_t plan, Seconds seconds) { seconds_.at(plan).push_back(seconds); }

  /// The plan to stay with by what is known so far.
  std::size_t best() const {
    std::size_t found = 0;
    for (std::size_t i = 1; i < seconds_.size(); ++i) {
      if (seconds_[i].empty() || seconds_[found].empty()) { continue; }
      auto const needed = found == 0 ? 1 - margin : 1.0;
      if (median(i) < needed * median(found)) { found = i; }
    }
    return found;
  }

  /// Of a plan that was timed.
  double median(std::size_t plan) const {
    auto all = seconds_.at(plan);
    auto const at = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), at, all.end());
    return *at;
  }
  std::size_t plans() const noexcept { return seconds_.size(); }

 private:
  std::vector<std::vector<Seconds>> seconds_;
  std::size_t repeats_ = 1;
};

using plan_trials = basic_plan_trials<>;

}  // namespace assay::transfer
