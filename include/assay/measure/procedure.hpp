// SPDX-License-Identifier: Apache-2.0
/// @file
/// The procedure of a comparison: epochs of cells, interim analyses, and the end.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/measure/cell_size.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/conclude.hpp>
#include <assay/measure/epoch_effects.hpp>
#include <assay/measure/guards.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/measure/subject_runner.hpp>
#include <assay/stats/group_sequential.hpp>
#include <assay/stats/randomised_blocks.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {
namespace detail {

/// Runs the epochs of one comparison.
template <class Clock>
class procedure {
 public:
  procedure(std::vector<variant> const& variants, std::vector<contrast> const& contrasts,
            options const& chosen)
      : variants_(variants),
        contrasts_(contrasts),
        options_(chosen),
        primary_(chosen.clock.value_or(clock::wall)),
        analyses_(stats::alpha_schedule(chosen.max_epochs, chosen.alpha, contrasts.size())),
        effects_(variants.size(), contrasts, chosen.hidden_control),
        runner_(variants, chosen) {
    record_.seed = chosen.seed == 0 ? stats::draw_seed() : chosen.seed;
    end_.bytes.resize(variants.size());
    end_.flops.resize(variants.size());
    end_.typical = typical_calls{variants.size()};
    end_.results.resize(variants.size());
  }

  comparison run() {
    begin_ = Clock::now();
    try {
      for (bool decided = false; !decided; ++number_) {
        decided = run_epoch(
            {number_, stats::derive_seed(record_.seed, static_cast<std::uint64_t>(number_)), 0});
      }
    } catch (interruption const& cause) {
      end_.outcome = cause.outcome;
      end_.reason = cause.reason;
      end_.variant = cause.variant;
      if (open_ && record_.epoch_records.back().dropped.empty()) {
        record_.epoch_records.back().dropped = "the comparison ended in this epoch";
      }
    }
    conclude(variants_, contrasts_, options_, effects_, launches_.value_or(0), end_, record_);
    record_.seconds = elapsed();
    return std::move(record_);
  }

 private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  /// Builds everything anew, times it, and analyses where an analysis is due; true when the
  /// comparison is decided.
  bool run_epoch(epoch const& now) {
    stats::random_source from{stats::derive_seed(now.seed, 1)};
    auto& record = record_.epoch_records.emplace_back();
    open_ = true;
    record.number = now.number;
    record.start_seconds = elapsed();
    position_ = 0;
    bool decided = false;
    if (!one_at_a_time_) {
      try {
        decided = run_together(now, from, record);
      } catch (memory_shortage& cause) {
        if (!open_) {  // the cells of the epoch count already
          cause.reason += "; the timed results could not be verified: make the variants smaller";
          throw;
        }
        separate(cause, record);
      }
    }
    if (one_at_a_time_) {
      try {
        decided = run_one_at_a_time(now, from, record);
      } catch (memory_shortage& cause) {
        cause.reason += "; no other variant was in memory: make this variant smaller";
        throw;
      }
    }
    record.seconds = elapsed() - record.start_seconds;
    return decided;
  }

  /// The subjects live to the end of the epoch, so that the timed ones can be verified.
  bool run_together(epoch const& now, stats::random_source& from, epoch_record& record) {
    auto const built = prepare(now, stats::draw_order(runner_.instances(), from), from);
    if (!launches_) { size_cells(warm_up_first(built, from)); }
    set_up_seconds_ = elapsed() - record.start_seconds;
    runner_.touch(built, from);
    auto const blocks = draw_blocks(from, record);
    auto const timed_from = elapsed();
    for (auto const& block : blocks) {
      std::vector<cell> cells;
      for (auto const& slot : block.slots) {
        cells.push_back(time(*built[static_cast<std::size_t>(slot.variant)], slot, from, record));
      }
      effects_.add_block(block, cells);
    }
    block_seconds_ = (elapsed() - timed_from) / record.blocks;
    end_cells(now, built, from, record);
    bool const decided = close_epoch(record);
    if (decided || verifies_every_epoch()) { runner_.verify(built, "after timing", from); }
    return decided;
  }

  /// Builds, times, verifies and destroys one subject after the other, in random order. Each
  /// subject runs its own cells of the epoch's blocks, in their order and with their buffer sets.
  bool run_one_at_a_time(epoch const& now, stats::random_source& from, epoch_record& record) {
    if (!launches_) {
      std::vector<double> launches;
      for (auto const v : stats::draw_order(variants_.size(), from)) {
        launches.push_back(warm_up_first(prepare(now, {v}, from), from).front());
      }
      size_cells(launches);
    }
    auto const blocks = draw_blocks(from, record);
    std::vector cells(blocks.size(), std::vector<cell>(blocks.front().slots.size()));
    double timing = 0;
    for (auto const i : stats::draw_order(runner_.instances(), from)) {
      auto const built = prepare(now, {i}, from);
      (void)runner_.warm_up(built, from);  // clocks fell while the subject was built
      auto const timed_from = elapsed();
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        for (std::size_t s = 0; s < cells[b].size(); ++s) {
          auto const& slot = blocks[b].slots[s];
          if (slot.variant == static_cast<int>(i)) {
            cells[b][s] = time(*built[i], slot, from, record);
          }
        }
      }
      timing += elapsed() - timed_from;
      end_cells(now, built, from, record);
      runner_.verify(built, "after timing", from);
    }
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      effects_.add_block(blocks[b], cells[b], false);
    }
    block_seconds_ = timing / record.blocks;
    set_up_seconds_ = elapsed() - record.start_seconds - timing;
    return close_epoch(record);
  }

  /// Forgets the cells of the epoch, so that this epoch and all later ones run one subject at a
  /// time.
  void separate(memory_shortage const& cause, epoch_record& record) {
    one_at_a_time_ = true;
    effects_.drop_epoch();
    end_.typical.drop_epoch();
    std::erase_if(record_.cells, [&](auto const& each) { return each.epoch == record.number; });
    record.dropped.clear();
    position_ = 0;
    end_.caveats.push_back(
        "the variants do not fit into memory together, so from epoch " +
        std::to_string(record.number + 1) +
        " on each is built, timed and destroyed alone, in random order (" + cause.reason +
        "). Not guarded: carry-over, and placement by shared buffer sets. Drift within an epoch is "
        "not balanced but random");
  }

  /// Builds subjects, verifies them where that is due, and settles them.
  subjects prepare(epoch const& now, std::vector<std::size_t> const& order,
                   stats::random_source& from) {
    if (options_.at_epoch_begin) { options_.at_epoch_begin(now); }
    auto built = runner_.build(now, order);
    if (!launches_) { runner_.learn_checks(built, end_.results); }
    if (!launches_ || verifies_every_epoch()) { runner_.verify(built, "before timing", from); }
    runner_.settle(built, from);
    return built;
  }

  /// Warms up subjects before the first cell, and records their bytes and FLOPs. Returns the
  /// seconds of a launch of each.
  std::vector<double> warm_up_first(subjects const& built, stats::random_source& from) {
    auto launches = runner_.warm_up(built, from);
    for (std::size_t v = 0; v < variants_.size(); ++v) {
      if (!built[v]) { continue; }
      end_.bytes[v] = built[v]->bytes();
      end_.flops[v] = built[v]->flops();
    }
    return launches;
  }

  /// From 2 ms on, first epochs have one block: a second one would cost more than another epoch.
  void size_cells(std::vector<double> const& launches) {
    launches_ = runner_.launches_for(launches);
    if (*std::max_element(launches.begin(), launches.end()) >= 2e-3) { first_blocks_ = 1; }
  }

  std::vector<stats::block> draw_blocks(stats::random_source& from, epoch_record& record) {
    // From 24 epochs on, blocks may use the time that the last epochs would leave.
    double const share = effects_.epochs() < 24 ? 0 : options_.max_seconds / options_.max_epochs;
    double const affordable = std::max({0.05, 2 * set_up_seconds_, share}) / block_seconds_;
    record.blocks = blocks_for(effects_, primary_, contrasts_.size(), options_.margin, affordable,
                               first_blocks_);
    return stats::draw_epoch(static_cast<int>(runner_.instances()), record.blocks, from);
  }

  /// Asks subjects and hooks about the cells that were timed, while the subjects still live.
  void end_cells(epoch const& now, subjects const& built, stats::random_source& from,
                 epoch_record& record) {
    auto const empty = runner_.time_empty(built, *launches_, from);
    if (empty && empty->disturbance.empty()) { end_.empty_calls.push_back(*empty); }
    for (std::size_t v = 0; v < variants_.size(); ++v) {  // in each epoch: they may change
      if (!built[v]) { continue; }
      for (auto const& each : runner_.caveats(*built[v], v)) { add_distinct(end_.caveats, each); }
    }
    if (options_.throttle_bits) { record.throttle |= options_.throttle_bits(); }
    if (!options_.at_epoch_end) { return; }
    for (auto const& reason : options_.at_epoch_end(now)) {
      if (record.dropped.find(reason) != std::string::npos) { continue; }  // of another subject
      record.dropped += (record.dropped.empty() ? "" : "; ") + reason;
    }
  }

  /// Counts the epoch, or drops a disturbed one; true when it was the last.
  bool close_epoch(epoch_record const& record) {
    if (!record.dropped.empty()) {
      effects_.drop_epoch();
      end_.typical.drop_epoch();
      int const dropped = record.number + 1 - effects_.epochs();
      // Half of the epochs may be disturbed; beyond that the machine is not fit to measure on.
      if (dropped >= 8 && dropped > effects_.epochs()) {
        throw interruption{verdict::unproven,
                           std::to_string(dropped) + " of " + std::to_string(record.number + 1) +
                               " epochs were disturbed, the last by: " + record.dropped};
      }
      return false;
    }
    effects_.close_epoch();
    end_.typical.close_epoch();
    open_ = false;
    return analyse() || effects_.epochs() == options_.max_epochs || out_of_time();
  }

  bool verifies_every_epoch() const noexcept {
    return options_.verify == verification::every_epoch;
  }

  /// Times one cell and records it.
  cell time(subject& timed, stats::slot const& slot, stats::random_source& from,
            epoch_record& record) {
    double const start = elapsed();
    auto const made = runner_.time(timed, slot, *launches_, from);
    end_.typical.add(static_cast<std::size_t>(slot.variant), made.launches);
    if (!made.disturbance.empty() && record.dropped.empty()) {
      record.dropped =
          "\"" + runner_.label(static_cast<std::size_t>(slot.variant)) + "\": " + made.disturbance;
    }
    record_.cells.push_back({record.number, position_++, slot.variant, slot.buffer_set, start,
                             made.seconds, made.sm_hertz});
    return made;
  }

  /// Classifies all contrasts on the primary clock when an analysis is due; true when all are
  /// settled.
  bool analyse() {
    auto const due = std::find_if(analyses_.begin(), analyses_.end(),
                                  [&](auto const& at) { return at.epochs == effects_.epochs(); });
    if (due == analyses_.end()) { return false; }
    end_.last_analysis = *due;
    auto& record = record_.analyses.emplace_back();
    record = {due->epochs, due->alpha, due->critical_value, {}};
    bool all_settled = true;
    for (std::size_t k = 0; k < contrasts_.size(); ++k) {
      auto const judged = judge(effects_, primary_, k, *due, options_.margin,
                                placement_of(contrasts_[k], variants_));
      record.outcomes.push_back(judged.found.outcome);
      all_settled = all_settled && judged.settled(options_);
    }
    return all_settled;
  }

  /// True when the next analysis would come too late; never before the first one.
  bool out_of_time() const {
    if (!end_.last_analysis) { return false; }
    auto const next = std::find_if(analyses_.begin(), analyses_.end(),
                                   [&](auto const& at) { return at.epochs > effects_.epochs(); });
    return next == analyses_.end() ||
           elapsed() * next->epochs / effects_.epochs() > options_.max_seconds;
  }

  std::vector<variant> const& variants_;
  std::vector<contrast> const& contrasts_;
  options const& options_;
  clock primary_;
  std::vector<stats::interim_analysis> analyses_;
  epoch_effects effects_;
  subject_runner runner_;
  std::optional<int> launches_;  ///< timed ones of a cell; none before the first warm-up
  int first_blocks_ = 2;         ///< of the first two epochs
  run_outcome end_;
  comparison record_;
  typename Clock::time_point begin_;
  double set_up_seconds_ = 0;      ///< the last epoch took so long, without its blocks
  double block_seconds_ = 0;       ///< a block of the last epoch took so long
  bool one_at_a_time_ = false;     ///< the variants do not fit into memory together
  bool open_ = false;              ///< the cells of the current epoch do not count yet
  int number_ = 0, position_ = 0;  ///< the current epoch, its next cell
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
  return detail::procedure<Clock>{variants, contrasts, chosen}.run();
}

}  // namespace assay::measure
