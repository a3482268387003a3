// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to follow.hpp: the cells of all ranks as one, and what the ranks do beside the slowest.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/machine/nvml_watch.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/subject.hpp>
#include <assay/report/format.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::measure::served {

/// "rank 2: text".
inline std::string of_rank(std::size_t rank, std::string const& text) {
  return concat({"rank ", std::to_string(rank), ": ", text});
}

/// The cell of all ranks: the slowest on each clock, since a job ends with its last rank. A clock
/// that one rank lacks is NaN. The launches are those of the rank that is slowest on the deciding
/// clock.
inline cell slowest(std::vector<cell> const& of, clock decides) {
  auto all = of.front();
  for (std::size_t rank = 0; rank < of.size(); ++rank) {
    auto const& each = of[rank];
    if (each[decides] > all[decides]) { all.launches = each.launches; }
    for (auto const on : all_clocks) {
      if (std::isnan(each[on]) || each[on] > all[on]) { all[on] = each[on]; }
    }
    if (std::isnan(each.sm_hertz) || each.sm_hertz < all.sm_hertz) { all.sm_hertz = each.sm_hertz; }
    if (rank == 0) { all.disturbance.clear(); }
    if (!each.disturbance.empty() && all.disturbance.empty()) {
      all.disturbance = of_rank(rank, each.disturbance);
    }
  }
  return all;
}

/// The times and clocks of all ranks, by variant.
///
/// A launch that ends on all ranks together, as a collective does, takes longest on the rank that
/// came first. The rank that came last waits for nobody. So the shortest time is the time after the
/// last arrival, and the longest exceeds it by the skew. No common clock is needed.
class rank_times {
 public:
  rank_times(int ranks, std::vector<variant> const& variants)
      : throttled_(static_cast<std::size_t>(ranks)) {
    for (auto const& each : variants) { of_.push_back({each.label, {}, {}, {}, {}, {}, 0}); }
    for (auto& each : of_) {
      each.slowest.resize(throttled_.size());
      each.fastest.resize(throttled_.size());
      each.hertz.resize(throttled_.size());
    }
  }

  /// Adds the cells of a variant on all ranks by the clock that decides.
  void add(std::size_t variant, std::vector<cell> const& ranks, int launches, clock decides) {
    auto& to = of_[variant];
    auto const by = [&](cell const& a, cell const& b) { return a[decides] < b[decides]; };
    auto const [first, last] = std::ranges::minmax_element(ranks, by);
    to.after_last.push_back((*first)[decides]);
    to.skew.push_back(((*last)[decides] - (*first)[decides]) * launches);
    ++to.slowest[static_cast<std::size_t>(last - ranks.begin())];
    ++to.fastest[static_cast<std::size_t>(first - ranks.begin())];
    ++to.cells;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      to.hertz[rank].push_back(ranks[rank].sm_hertz);
    }
  }

  /// The throttle bits of a rank at the end of an epoch.
  void add_throttle(std::size_t rank, std::uint64_t bits) {
    for (std::size_t i = 0; i < throttle_counts{}.size(); ++i) {
      throttled_[rank][i] += (bits & machine::throttle_reasons[i].bit) != 0 ? 1 : 0;
    }
  }

  /// The ranks whose GPUs were throttled, and those whose clocks differ by more than 0.5 % from the
  /// fastest rank's, or between variants.
  std::vector<std::string> notes() const {
    std::vector<std::string> all;
    for (std::size_t rank = 0; rank < throttled_.size(); ++rank) {
      for (std::size_t i = 0; i < throttle_counts{}.size(); ++i) {
        if (throttled_[rank][i] == 0) { continue; }
        all.push_back(of_rank(
            rank, concat({"GPU throttled (", machine::throttle_reasons[i].name, ") at the end of ",
                          std::to_string(throttled_[rank][i]), " epochs"})));
      }
      std::vector<double> here;
      std::string text;
      for (auto const& each : of_) {
        if (each.cells == 0) { continue; }
        here.push_back(median_hertz(each, rank));
        text +=
            concat({text.empty() ? "" : ", ", megahertz(here.back()), " in \"", each.label, "\""});
      }
      if (here.empty()) { continue; }
      auto const [low, high] = std::ranges::minmax(here);
      if (high > 1.005 * low) {
        all.push_back(of_rank(rank, "the SM clocks differ between variants: " + text));
      }
      double const fastest = fastest_hertz();
      if (fastest > 1.005 * high) {
        all.push_back(of_rank(rank, concat({"the SM clock is ", megahertz(high), ", on another ",
                                            "rank ", megahertz(fastest)})));
      }
    }
    return all;
  }

  /// The answer to which rank is slow, and for how long the others wait.
  answer waiting() const {
    answer made{"Which rank is slow, and how long do ranks wait?", {}};
    for (auto const& each : of_) {
      if (each.cells == 0) { continue; }
      made.lines.push_back(concat(
          {"\"", each.label, "\": ", report::duration(stats::summarise(each.after_last).median),
           " after the last arrival, skew of a cell ",
           report::duration(stats::summarise(each.skew).median), "; ",
           most_often(each.slowest, " is the slowest in ", each.cells), " % of the cells, ",
           most_often(each.fastest, " the fastest in ", each.cells), " %"}));
    }
    made.lines.emplace_back(
        "Where a launch ends on all ranks together, the fastest rank came last and waited for no "
        "other. The skew is the time from the first arrival to the last.");
    return made;
  }

 private:
  struct of_variant {
    std::string label;
    std::vector<double> after_last, skew;  ///< seconds of a launch, and of a cell
    std::vector<int> slowest, fastest;     ///< cells, by rank
    std::vector<std::vector<double>> hertz;
    int cells = 0;
  };
  using throttle_counts = std::array<int, machine::throttle_reasons.size()>;

  static std::string most_often(std::vector<int> const& cells, char const* is, int all) {
    auto const most = std::ranges::max_element(cells);
    return concat({"rank ", std::to_string(most - cells.begin()), is,
                   stats::number_text(100.0 * *most / all, 0, std::chars_format::fixed)});
  }
  static double median_hertz(of_variant const& of, std::size_t rank) {
    return stats::summarise(of.hertz[rank]).median;
  }
  static std::string megahertz(double hertz) {
    return stats::number_text(hertz * 1e-6, 0, std::chars_format::fixed) + " MHz";
  }
  double fastest_hertz() const {
    double fastest = 0;
    for (auto const& each : of_) {
      for (std::size_t rank = 0; rank < throttled_.size(); ++rank) {
        fastest = std::max(fastest, median_hertz(each, rank));  // NaN leaves it as it is
      }
    }
    return fastest;
  }

  std::vector<of_variant> of_;
  std::vector<throttle_counts> throttled_;  ///< epochs, by rank and reason
};

}  // namespace assay::measure::served
