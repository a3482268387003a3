// SPDX-License-Identifier: Apache-2.0
/// @file
/// The procedure of a comparison: epochs, interim analyses, and the end.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/measure/conclude.hpp>
#include <assay/measure/epoch_effects.hpp>
#include <assay/measure/epoch_loop.hpp>
#include <assay/measure/guards.hpp>
#include <assay/measure/subject.hpp>
#include <assay/measure/validate.hpp>
#include <assay/stats/group_sequential.hpp>
#include <assay/stats/randomised_blocks.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// The number of blocks of the next epoch, from the variances of the epochs before.
///
/// The first two epochs have `first` blocks. Then there are enough blocks that the noise within an
/// epoch is below a quarter of the margin, or below the differences between epochs. There are at
/// most `affordable` and at most 8 blocks: beyond twice the time of an epoch's set-up, another
/// epoch is worth more than another block. Exchanged labels leave the variances as they are.
inline int blocks_for(epoch_effects const& so_far, clock on, std::size_t contrasts, double margin,
                      double affordable, int first = 2) {
  if (so_far.epochs() < 2) { return first; }
  double const quarter = std::log1p(margin) / 4;
  double wanted = 1;
  for (std::size_t k = 0; k < contrasts; ++k) {
    double const within = so_far.block_variance(on, k);
    double const deviation = stats::standard_deviation(so_far.effects(on, k));
    // The variance of epoch effects contains the mean noise of their blocks.
    double const between =
        so_far.epochs() < 4 ? 0 : deviation * deviation - within / so_far.mean_blocks();
    double const ratio = within / std::max(quarter * quarter, between);
    if (std::isfinite(ratio)) { wanted = std::max(wanted, ratio); }
  }
  return static_cast<int>(std::ceil(std::min({wanted, std::max(1.0, affordable), 8.0})));
}

namespace detail {

/// Runs the epochs of one comparison.
class procedure final : epoch_loop {
 public:
  procedure(std::vector<variant> const& variants, std::vector<contrast> const& contrasts,
            options const& chosen, double (*now)())
      : epoch_loop(variants, chosen, chosen.seed == 0 ? stats::draw_seed() : chosen.seed, now),
        contrasts_(contrasts),
        primary_(chosen.clock.value_or(clock::wall)),
        analyses_(stats::alpha_schedule(chosen.max_epochs, chosen.alpha, contrasts.size())),
        effects_(variants.size(), contrasts, chosen.hidden_control),
        end_(variants.size()) {
    record_.seed = seed_;
  }

  comparison run() {
    std::vector<std::size_t> all(runner_.instances());
    std::iota(all.begin(), all.end(), std::size_t{0});
    try {
      for (bool last = false; !last; keep_records()) {
        open(static_cast<int>(record_.epoch_records.size()));
        last = run_epoch(all);
      }
    } catch (memory_shortage const& cause) {
      end_early(cause,
                one_at_a_time_
                    ? "; no other variant was in memory: make this variant smaller"
                    : "; the timed results could not be verified: make the variants smaller");
    } catch (interruption const& cause) { end_early(cause); }
    note_checks();
    end_.caveats = caveats_;
    end_.launch_seconds = longest_launch_;
    conclude(variants_, contrasts_, options_, effects_, launches_, end_, record_);
    record_.seconds = elapsed();
    return std::move(record_);
  }

 private:
  void end_early(interruption const& cause, std::string const& remedy = {}) {
    end_.outcome = cause.outcome;
    end_.reason = cause.reason + remedy;
    end_.variant = cause.variant;
    auto& dropped = current_.record.dropped;
    if (!current_.counts && dropped.empty()) { dropped = "the comparison ended in this epoch"; }
    keep_records();
  }

  void keep_records() {
    current_.record.seconds = elapsed() - current_.record.start_seconds;
    record_.epoch_records.push_back(current_.record);
    for (auto const& each : current_.timed) { record_.cells.push_back(each); }
  }

  /// Before the first timed cell.
  bool is_unverified(subjects const& built) override {
    if (launches_ > 0) { return false; }
    runner_.learn_checks(built, end_.results);
    return true;
  }

  std::vector<stats::block> draw_blocks() override {
    // From 24 epochs on, blocks may use the time that the last epochs would leave.
    double const share = effects_.epochs() < 24 ? 0 : options_.max_seconds / options_.max_epochs;
    double const affordable = std::max({0.05, 2 * set_up_seconds_, share}) / block_seconds_;
    // From 2 ms on, a second block in first epochs would cost more than another epoch.
    int const first = longest_launch_ >= 2e-3 ? 1 : 2;
    int const blocks =
        blocks_for(effects_, primary_, contrasts_.size(), options_.margin, affordable, first);
    return stats::draw_epoch(static_cast<int>(runner_.instances()), blocks, current_.from);
  }

  void look_at(subjects const& built) override {
    auto const empty = runner_.time_empty(built, launches_, current_.from);
    if (empty && empty->disturbance.empty()) { end_.empty_calls.push_back(*empty); }
    for (std::size_t v = 0; v < variants_.size(); ++v) {
      if (!built[v]) { continue; }
      end_.bytes[v] = built[v]->bytes();
      end_.flops[v] = built[v]->flops();
    }
    time_short_cells(built);
  }

  /// Times one cell of fewer launches of each variant, behind all cells of the verdict, where a
  /// launch is so short that the cost of a cell may matter. All variants have as many launches and
  /// the same buffer set. A source of its own leaves all other random choices as they are.
  void time_short_cells(subjects const& built) {
    constexpr int least = 21;  // subjects time fewer launches one by one
    if (longest_launch_ >= 20e-6 || launches_ < 2 * least) { return; }
    stats::random_source from{stats::derive_seed(current_.now.seed, 3)};
    int const launches = std::max(least, launches_ >> (2 + static_cast<int>(from.below(2))));
    int const set = static_cast<int>(from.below(2));
    for (auto const v : stats::draw_order(variants_.size(), from)) {
      if (!built[v]) { continue; }
      std::vector<double> full;
      for (auto const& each : current_.timed) {
        if (each.variant != static_cast<int>(v) || each.buffer_set != set) { continue; }
        full.push_back(each.seconds[static_cast<std::size_t>(primary_)]);
      }
      auto const made = runner_.time(*built[v], {static_cast<int>(v), set}, launches, from);
      if (!made.disturbance.empty()) { continue; }
      end_.short_cells[v].push_back({current_.record.number, launches, launches * made[primary_],
                                     launches_ * stats::mean(full)});
    }
  }

  bool close(subjects&) override {
    if (!current_.record.dropped.empty()) {
      drop(effects_.epochs(), " of " + std::to_string(current_.record.number + 1));
      return false;
    }
    for (std::size_t b = 0; b < current_.blocks.size(); ++b) {
      auto const& block = current_.blocks[b];
      auto const cells = current_.cells_of(b);
      effects_.add_block(block, cells, !one_at_a_time_);
      for (std::size_t s = 0; s < block.slots.size(); ++s) {
        end_.typical.add(static_cast<std::size_t>(block.slots[s].variant), cells[s].launches);
      }
    }
    effects_.close_epoch();
    end_.typical.close_epoch();
    return analyse() || effects_.epochs() == options_.max_epochs || out_of_time();
  }

  /// The first analysis after so many epochs or more; null where none is left.
  stats::interim_analysis const* analysis_from(int epochs) const {
    for (auto const& each : analyses_) {
      if (each.epochs >= epochs) { return &each; }
    }
    return nullptr;
  }

  /// Classifies all contrasts on the primary clock when an analysis is due; true when all are
  /// settled.
  bool analyse() {
    auto const* const due = analysis_from(effects_.epochs());
    if (due == nullptr || due->epochs != effects_.epochs()) { return false; }
    end_.last_analysis = *due;
    analysis_record record{due->epochs, due->alpha, due->critical_value, {}};
    bool all_settled = true;
    for (std::size_t k = 0; k < contrasts_.size(); ++k) {
      auto const judged = judge(effects_, primary_, k, *due, options_.margin,
                                placement_of(contrasts_[k], variants_, longest_launch_));
      record.outcomes.push_back(judged.found.outcome);
      all_settled = all_settled && judged.settled(options_);
    }
    record_.analyses.push_back(std::move(record));
    return all_settled;
  }

  /// True when the next analysis, and the verification after it, would come too late; never before
  /// the first one.
  bool out_of_time() const {
    if (!end_.last_analysis) { return false; }
    auto const* const next = analysis_from(effects_.epochs() + 1);
    if (next == nullptr) { return true; }
    bool const at_ends = options_.verify == verification::at_ends && !one_at_a_time_;
    double const once = at_ends ? runner_.checking_seconds() : 0;
    double const last = at_ends ? runner_.checking_seconds(variants_.size()) : 0;
    return once + (elapsed() - once) * next->epochs / effects_.epochs() + last >
           options_.max_seconds;
  }

  std::vector<contrast> const& contrasts_;
  clock primary_;
  std::vector<stats::interim_analysis> analyses_;
  epoch_effects effects_;
  run_outcome end_;
  comparison record_;
};

}  // namespace detail

/// Measures the variants and classifies each contrast on every clock that all variants have.
///
/// Builds all variants in each epoch, and a second instance of the first one. Verifies all buffer
/// sets before anything is timed and again at the end. Times in randomised blocks
/// (`stats/randomised_blocks.hpp`). Stops at the first interim analysis at which all contrasts are
/// settled on the primary clock, or when the time is spent. An epoch that `options::at_epoch_end`
/// or a cell calls disturbed is dropped and repeated. Blocks until the end. An exception of a
/// subject becomes the reason of UNPROVEN findings. Throws `std::invalid_argument` for variants,
/// contrasts or options that `validate` refuses.
///
/// Variants that do not fit into memory together run one at a time: each is built, timed, verified
/// and destroyed alone. This begins with the epoch in which a call first runs out of memory. A
/// caveat names the reason, and the guards that are missing from then on. Memory that runs out only
/// after the last timing ends the comparison, since what was timed can no longer be verified.
///
/// All random choices follow from `options::seed`. The number of blocks in an epoch also depends on
/// times, so a seed repeats the order of cells only where that number is the same. `Clock` measures
/// the duration of the comparison; subjects have clocks of their own.
template <class Clock = std::chrono::steady_clock>
comparison run(std::vector<variant> const& variants, std::vector<contrast> const& contrasts,
               options const& chosen = {}) {
  validate(variants, contrasts, chosen);
  return detail::procedure{variants, contrasts, chosen, detail::seconds_of<Clock>}.run();
}

}  // namespace assay::measure
