// SPDX-License-Identifier: Apache-2.0
/// @file
/// Epoch effects: one log ratio for each contrast, clock and epoch, from cells; typical calls.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/measure/subject.hpp>
#include <assay/stats/randomised_blocks.hpp>
#include <assay/stats/signed_rank.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace assay::measure {

/// The contrast of the logs of values, one of each variant.
inline double log_ratio(contrast const& by, std::vector<double> const& values) {
  double sum = 0;
  for (std::size_t v = 0; v < by.weights.size(); ++v) {
    if (by.weights[v] != 0) { sum += by.weights[v] * std::log(values[v]); }
  }
  return sum;
}

/// Collects the cells of an epoch, and closes it with one log ratio for each contrast and clock.
///
/// The effect of an epoch is the contrast of the logs of mean times. A mean is over all timed
/// launches of an instance in the epoch. No launch is left out because it is long, since a variant
/// with a few slow calls is slow. Exchanged labels negate the effect bit for bit. A clock
/// that is missing in a cell has NaN effects for that epoch.
class epoch_effects {
 public:
  /// For `instances` subjects: the variants and, if there is a hidden control, one more: the second
  /// instance of variant 0.
  epoch_effects(std::size_t variants, std::vector<contrast> contrasts, bool hidden_control)
      : variants_(variants),
        instances_(variants + (hidden_control ? 1 : 0)),
        contrasts_(std::move(contrasts)) {
    for (auto& each : contrasts_) { each.weights.resize(instances_, 0.0); }
    if (hidden_control) {
      contrast control{"hidden control", contrast::kind::difference, {}};
      control.weights.resize(instances_, 0.0);
      control.weights.front() = -1;
      control.weights.back() = 1;
      contrasts_.push_back(std::move(control));
    }
    for (auto& of : clocks_) {
      of.effects.resize(contrasts_.size());
      of.carry_over.resize(contrasts_.size());
      of.block_variance.resize(contrasts_.size(), 0.0);
      of.repeats.resize(variants_);
      of.repeats_before.resize(variants_);
    }
  }

  /// Adds a block; `cells[i]` belongs to `of.slots[i]`. Cells that were not timed in the order of
  /// the slots show no carry-over.
  void add_block(stats::block const& of, std::span<cell const> cells, bool in_order = true) {
    for (std::size_t k = 0; k < clocks_.size(); ++k) {
      auto& into = clocks_[k];
      std::vector<double> sums(instances_);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        double const value = time_of(cells[i].seconds[k]);
        into.complete = into.complete && !std::isnan(value);
        into.seen = into.seen || !std::isnan(value);
        sums[static_cast<std::size_t>(of.slots[i].variant)] += value;
      }
      into.blocks.push_back(std::move(sums));
      for (std::size_t half = 0; in_order && half < 2; ++half) {
        auto const at = of.repeat_pair(half);
        auto const instance = static_cast<std::size_t>(of.slots[at].variant);
        into.repeats[instance < variants_ ? instance : 0].add(
            std::log(time_of(cells[at].seconds[k])) - std::log(time_of(cells[at + 1].seconds[k])));
      }
    }
  }

  /// Turns the cells since the last call into one effect for each contrast and clock.
  void close_epoch() {
    blocks_.push_back(static_cast<double>(clocks_.front().blocks.size()));
    for (auto& each : clocks_) { close(each); }
  }

  int epochs() const noexcept { return static_cast<int>(blocks_.size()); }

  /// One log ratio for each closed epoch.
  std::vector<double> const& effects(clock on, std::size_t contrast) const {
    return at(on).effects[contrast];
  }

  /// The same for `groups` groups of the first `epochs` epochs. A group is of neighbouring epochs,
  /// and its mean times are over all launches in them.
  std::vector<double> grouped(clock on, std::size_t contrast, int epochs, int groups) const {
    std::vector<double> all;
    for (int g = 0; g < groups; ++g) {
      std::vector<double> sums(instances_);
      for (int e = g * epochs / groups; e < (g + 1) * epochs / groups; ++e) {
        add_to(sums, at(on).sums[static_cast<std::size_t>(e)]);
      }
      all.push_back(log_ratio(contrasts_[contrast], sums));
    }
    return all;
  }

  /// The standard deviation of the log mean times of an instance between epochs.
  double deviation(clock on, std::size_t instance) const {
    std::vector<double> logs;
    for (std::size_t e = 0; e < blocks_.size(); ++e) {
      logs.push_back(std::log(at(on).sums[e][instance] / blocks_[e]));
    }
    return stats::standard_deviation(logs);
  }

  /// The variant of a contrast with the largest deviation.
  std::size_t noisiest(clock on, std::size_t contrast) const {
    std::size_t most = variants_;
    for (std::size_t v = 0; v < variants_; ++v) {
      if (contrasts_[contrast].weights[v] == 0) { continue; }
      if (most == variants_ || deviation(on, v) > deviation(on, most)) { most = v; }
    }
    return most;
  }

  /// Log ratios of the control's second instance to its first; call with a hidden control only.
  std::vector<double> const& control(clock on) const { return at(on).effects.back(); }

  /// A bound on the carry-over from the cell before, as a log ratio of the contrast. The second
  /// cell of a repeat pair follows a cell of its own variant, so the pair's difference bounds the
  /// carry-over of that variant. A variant without a repeat pair in an epoch has its median of the
  /// epochs before. An epoch without any repeat pair has no carry-over.
  std::vector<double> const& carry_over(clock on, std::size_t contrast) const {
    return at(on).carry_over[contrast];
  }

  /// The variance of block effects within an epoch, averaged over all epochs with two blocks or
  /// more. Exchanged labels leave it as it is.
  double block_variance(clock on, std::size_t contrast) const {
    auto const& from = at(on);
    return from.epochs_with_blocks == 0 ? std::numeric_limits<double>::quiet_NaN()
                                        : from.block_variance[contrast] / from.epochs_with_blocks;
  }

  /// Blocks in a closed epoch, on average.
  double mean_blocks() const noexcept { return stats::mean(blocks_); }

  /// True if every cell has this clock.
  bool complete(clock on) const noexcept { return at(on).complete && epochs() > 0; }
  /// True if some cell has this clock.
  bool seen(clock on) const noexcept { return at(on).seen; }

 private:
  struct tally {
    double sum = 0;
    int count = 0;
    void add(double value) noexcept {
      sum += value;
      ++count;
    }
    double mean() const noexcept { return sum / count; }
  };
  struct of_clock {
    // The open epoch: summed seconds by block and instance; differences within repeat pairs.
    std::vector<std::vector<double>> blocks;
    std::vector<tally> repeats;  // by variant
    // Closed epochs.
    std::vector<std::vector<double>> sums;                 // seconds, by epoch, then instance
    std::vector<std::vector<double>> repeats_before;       // means of closed epochs, by variant
    std::vector<std::vector<double>> effects, carry_over;  // by contrast, then epoch
    std::vector<double> block_variance;                    // sums over epochs, by contrast
    int epochs_with_blocks = 0;
    bool complete = true, seen = false;
  };

  static double time_of(double seconds) noexcept {
    return seconds > 0 && std::isfinite(seconds) ? seconds
                                                 : std::numeric_limits<double>::quiet_NaN();
  }

  static void add_to(std::vector<double>& sums, std::vector<double> const& more) {
    for (std::size_t i = 0; i < sums.size(); ++i) { sums[i] += more[i]; }
  }

  /// All instances have equally many cells, and weights sum to 0, so sums serve as means.
  void close(of_clock& of) {
    of.epochs_with_blocks += of.blocks.size() > 1 ? 1 : 0;
    auto& sums = of.sums.emplace_back(instances_);
    for (auto const& block : of.blocks) { add_to(sums, block); }
    for (std::size_t k = 0; k < contrasts_.size(); ++k) {
      std::vector<double> each_block;
      for (auto const& block : of.blocks) { each_block.push_back(log_ratio(contrasts_[k], block)); }
      of.effects[k].push_back(log_ratio(contrasts_[k], sums));
      of.carry_over[k].push_back(carried(of, contrasts_[k]));
      of.block_variance[k] += stats::variance(each_block);
    }
    for (std::size_t v = 0; v < variants_; ++v) {
      if (of.repeats[v].count > 0) { of.repeats_before[v].push_back(of.repeats[v].mean()); }
    }
    of.blocks.clear();
    for (auto& each : of.repeats) { each = {}; }
  }

  double carried(of_clock const& of, contrast const& by) const {
    tally common;
    for (auto const& each : of.repeats) {
      common.sum += each.sum;
      common.count += each.count;
    }
    if (common.count == 0) { return 0; }
    double sum = 0;
    for (std::size_t v = 0; v < variants_; ++v) {
      if (by.weights[v] == 0) { continue; }
      auto const& before = of.repeats_before[v];
      double const own = of.repeats[v].count > 0 ? of.repeats[v].mean()
                         : before.empty()        ? common.mean()
                                                 : stats::summarise(before).median;
      sum += by.weights[v] * own;
    }
    return sum;
  }

  of_clock const& at(clock on) const { return clocks_[static_cast<std::size_t>(on)]; }

  std::size_t variants_, instances_;
  std::vector<contrast> contrasts_;
  std::array<of_clock, 3> clocks_;
  std::vector<double> blocks_;  // by closed epoch
};

/// The line through the cells of each epoch, and its intervals by signed ranks over epochs; nothing
/// of fewer than 7 epochs, which have no interval. `launches` are those of the verdict's cells.
inline std::optional<launch_costs> cost_line(std::vector<short_cell> cells, int launches) {
  launch_costs found{{}, {}, 0.95, std::move(cells)};
  auto const critical = stats::signed_rank_critical_value(
      static_cast<std::int64_t>(found.cells.size()), (1 - found.confidence) / 2);
  if (critical < 0) { return {}; }
  std::vector<double> per_launch, per_cell;
  for (auto const& each : found.cells) {
    per_launch.push_back((each.full_seconds - each.seconds) / (launches - each.launches));
    per_cell.push_back(each.seconds - each.launches * per_launch.back());
  }
  found.per_launch = stats::signed_rank_interval(per_launch, critical);
  found.per_cell = stats::signed_rank_interval(per_cell, critical);
  return found;
}

/// Collects the times of launches that were timed one by one. A verdict is about mean times, and
/// this tells whether a few slow launches make the mean.
class typical_calls {
 public:
  explicit typical_calls(std::size_t variants)
      : open_(variants), slow_(variants), calls_(variants) {}

  /// Adds the launches of a cell to the open epoch. A second instance of the control has none.
  void add(std::size_t variant, std::vector<double> const& seconds) {
    if (variant >= open_.size()) { return; }
    open_[variant].insert(open_[variant].end(), seconds.begin(), seconds.end());
  }

  void close_epoch() {
    auto& medians = medians_.emplace_back();
    for (std::size_t v = 0; v < open_.size(); ++v) {
      medians.push_back(stats::summarise(open_[v]).median);
      calls_[v] += open_[v].size();
      for (double const each : open_[v]) {
        if (each >= slow_from * medians[v]) { slow_[v].push_back(each); }
      }
      open_[v].clear();
    }
  }

  /// The ratio of typical launches, as the median over epochs, if it differs from that of mean
  /// times, a log ratio of `effect`, by more than the margin; else NaN.
  double differing_ratio(contrast const& by, double effect, double margin) const {
    std::vector<double> effects;
    for (auto const& each : medians_) { effects.push_back(log_ratio(by, each)); }
    double const typical = stats::summarise(effects).median;
    return std::abs(typical - effect) > std::log1p(margin)
               ? std::exp(typical)
               : std::numeric_limits<double>::quiet_NaN();
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
  std::vector<std::vector<double>> medians_;  // by closed epoch, then variant
  std::vector<std::vector<double>> slow_;     // seconds of slow launches, by variant
  std::vector<std::size_t> calls_;            // launches in closed epochs, by variant
};

}  // namespace assay::measure
