// SPDX-License-Identifier: Apache-2.0
/// @file
/// `epoch_loop`: the steps of an epoch, which a comparison and a race have in common.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/measure/subject_runner.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/randomised_blocks.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay::measure::detail {

/// The seconds of a clock since its own beginning.
template <class Clock>
double seconds_of() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// The epoch that is being run.
struct current_epoch {
  epoch now;
  stats::random_source from{0};
  epoch_record record;
  std::vector<stats::block> blocks;
  std::vector<cell> cells;         ///< by block, then slot
  std::vector<cell_record> timed;  ///< the same cells in the order in which they ran
  bool counts = false;             ///< it was closed, and was not disturbed

  /// The cells of a block by slot.
  std::span<cell> cells_of(std::size_t block) {
    auto const slots = blocks[block].slots.size();  // as many in each block
    return {&cells[block * slots], slots};
  }
};

/// Builds subjects anew in each epoch, verifies them where that is due, and times them in blocks.
///
/// What a comparison and a race do in their own way is virtual: how many blocks an epoch has, and
/// what follows from its cells.
class epoch_loop {
 protected:
  epoch_loop(std::vector<variant> const& variants, options const& chosen, std::uint64_t seed,
             double (*now)())
      : variants_(variants),
        options_(chosen),
        seed_(seed),
        runner_(variants, chosen),
        now_(now),
        begin_(now()) {}
  ~epoch_loop() = default;

  /// The blocks of the current epoch.
  virtual std::vector<stats::block> draw_blocks() = 0;
  /// Counts the epoch or drops it. Resets subjects that are not verified after their last epoch.
  /// Returns true if this epoch was the last.
  virtual bool close(subjects& built) = 0;
  /// True if these new subjects are verified before they are timed, whatever the options say.
  virtual bool is_unverified(subjects const&) { return false; }
  /// Looks at subjects whose cells of this epoch were timed.
  virtual void look_at(subjects const&) {}

  double elapsed() const { return now_() - begin_; }

  /// Adds a caveat where checks took most of the permitted time, which leaves fewer epochs.
  void note_checks() {
    auto const seconds = runner_.checking_seconds();
    if (seconds < least_noted_seconds || seconds < options_.max_seconds / 2) { return; }
    caveats_.push_back(
        concat({"checks of results took ", std::to_string(std::llround(seconds)),
                " s, which count against max_seconds = ", stats::number_text(options_.max_seconds),
                ": one expect for several outputs, and setup.share among variants, compute "
                "right values once"}));
  }

  /// Begins an epoch.
  void open(int number) {
    auto const own = stats::derive_seed(seed_, static_cast<std::uint64_t>(number));
    current_ = {};
    current_.now = {number, own, 0};
    current_.from = stats::random_source{stats::derive_seed(own, 1)};
    current_.record.number = number;
    current_.record.start_seconds = elapsed();
    verified_ = false;
  }

  /// Runs the epoch that was opened over these instances. Returns the result of `close`. Memory
  /// that runs out throws if the cells count already, or if no other subject was in memory.
  bool run_epoch(std::vector<std::size_t> const& instances) {
    if (!one_at_a_time_) {
      try {
        return run_together(instances);
      } catch (memory_shortage const& cause) {
        if (current_.counts) { throw; }
        separate(cause);
      }
    }
    return run_one_at_a_time(instances);
  }

  /// Forgets the cells of the epoch, so that this epoch and all later ones run one subject at a
  /// time.
  void separate(memory_shortage const& cause) {
    one_at_a_time_ = true;
    current_.timed.clear();
    current_.record.dropped.clear();
    caveats_.push_back(
        concat({"the variants do not fit into memory together, so from epoch ",
                std::to_string(current_.now.number + 1),
                " on each is built, timed and destroyed alone, in random order (", cause.reason,
                "). Not guarded: carry-over, and placement by shared buffer sets. Drift within an "
                "epoch is "
                "not balanced but random"}));
  }

  std::vector<std::size_t> shuffled(std::vector<std::size_t> instances) {
    current_.from.shuffle(instances);
    return instances;
  }

  subjects build(std::vector<std::size_t> const& order) {
    if (options_.at_epoch_begin) { options_.at_epoch_begin(current_.now); }
    return runner_.build(current_.now, order);
  }

  /// Builds subjects, verifies them where that is due, and settles them.
  subjects prepare(std::vector<std::size_t> const& order) {
    auto built = build(order);
    if (is_unverified(built) || verifies_every_epoch()) {
      runner_.verify(built, "before timing", current_.from);
    }
    runner_.settle(built, current_.from);
    return built;
  }

  /// Sizes the cells of all epochs by the seconds of a launch of each.
  void size_cells(std::vector<double> const& seconds) {
    launches_ = runner_.launches_for(seconds);
    longest_launch_ = *std::max_element(seconds.begin(), seconds.end());
  }

  /// Drops the epoch. Half of the epochs may be disturbed; beyond that the machine is not fit to
  /// measure on. `of` names all epochs in the reason.
  void drop(int counted, std::string const& of = {}) {
    if (++dropped_ < 8 || dropped_ <= counted) { return; }
    throw interruption{verdict::unproven,
                       concat({std::to_string(dropped_), of,
                               " epochs were disturbed, the last by: ", current_.record.dropped})};
  }

 private:
  static constexpr double least_noted_seconds = 1;

  /// The subjects live to the end of the epoch, so that the timed ones can be verified.
  bool run_together(std::vector<std::size_t> const& instances) {
    auto built = prepare(shuffled(instances));
    if (launches_ == 0) { size_cells(runner_.warm_up(built, current_.from)); }
    set_up_seconds_ = elapsed() - current_.record.start_seconds;
    begin_blocks();
    block_seconds_ = time_cells(built) / current_.record.blocks;
    bool const last = end_epoch(built);
    if (last || verifies_every_epoch()) {
      runner_.verify(built, "after timing", current_.from);
      verified_ = true;
    }
    return last;
  }

  /// Builds, times, verifies and destroys one subject after the other, in random order. Each
  /// subject runs its own cells of the epoch's blocks, in their order and with their buffer sets.
  bool run_one_at_a_time(std::vector<std::size_t> const& instances) {
    if (launches_ == 0) {
      std::vector<double> seconds;
      for (auto const v : stats::draw_order(variants_.size(), current_.from)) {
        seconds.push_back(runner_.warm_up(prepare({v}), current_.from).front());
      }
      size_cells(seconds);
    }
    begin_blocks();
    double timing = 0;
    for (auto const i : shuffled(instances)) {
      auto const built = prepare({i});
      (void)runner_.warm_up(built, current_.from);  // clocks fell while it was built
      timing += time_cells(built);
      runner_.verify(built, "after timing", current_.from);
    }
    verified_ = true;
    block_seconds_ = timing / current_.record.blocks;
    set_up_seconds_ = elapsed() - current_.record.start_seconds - timing;
    subjects none(runner_.instances());
    return end_epoch(none);
  }

  void begin_blocks() {
    current_.blocks = draw_blocks();
    current_.record.blocks = static_cast<int>(current_.blocks.size());
    current_.cells =
        std::vector<cell>(current_.blocks.size() * current_.blocks.front().slots.size());
  }

  /// Times the cells of all subjects that are built, in the order of the blocks, and asks subjects
  /// and hooks about them. Returns the seconds of the timing.
  double time_cells(subjects const& built) {
    runner_.tell("timing");
    auto const begin = elapsed();
    for (std::size_t b = 0; b < current_.blocks.size(); ++b) {
      auto const cells = current_.cells_of(b);
      for (std::size_t s = 0; s < cells.size(); ++s) {
        auto const& slot = current_.blocks[b].slots[s];
        auto const& timed = built[static_cast<std::size_t>(slot.variant)];
        if (timed) { cells[s] = time(*timed, slot); }
      }
    }
    auto const seconds = elapsed() - begin;
    look_at(built);
    for (std::size_t v = 0; v < variants_.size(); ++v) {  // in each epoch: they may change
      if (!built[v]) { continue; }
      for (auto const& each : runner_.caveats(*built[v], v)) { add_distinct(caveats_, each); }
    }
    auto& dropped = current_.record.dropped;
    auto const reasons =
        options_.at_epoch_end ? options_.at_epoch_end(current_.now) : std::vector<std::string>{};
    for (auto const& reason : reasons) {
      if (dropped.find(reason) != std::string::npos) { continue; }  // of another subject
      dropped += (dropped.empty() ? "" : "; ") + reason;
    }
    if (options_.throttle_bits) { current_.record.throttle |= options_.throttle_bits(); }
    return seconds;
  }

  /// Times one cell and records it.
  cell time(subject& timed, stats::slot const& slot) {
    double const start = elapsed();
    auto made = runner_.time(timed, slot, launches_, current_.from);
    auto& record = current_.record;
    if (!made.disturbance.empty() && record.dropped.empty()) {
      record.dropped = concat(
          {"\"", runner_.label(static_cast<std::size_t>(slot.variant)), "\": ", made.disturbance});
    }
    current_.timed.push_back({record.number, static_cast<int>(current_.timed.size()), slot.variant,
                              slot.buffer_set, start, made.seconds, made.sm_hertz});
    return made;
  }

  bool end_epoch(subjects& built) {
    bool const last = close(built);
    current_.counts = current_.record.dropped.empty();
    return last;
  }

  bool verifies_every_epoch() const noexcept {
    return options_.verify == verification::every_epoch;
  }

 protected:
  std::vector<variant> const& variants_;
  options const& options_;
  std::uint64_t seed_;
  subject_runner runner_;
  current_epoch current_;
  std::vector<std::string> caveats_;  ///< of all subjects
  int launches_ = 0;                  ///< timed ones of a cell; 0 before the first warm-up
  double longest_launch_ = 0;         ///< seconds
  double set_up_seconds_ = 0;         ///< the last epoch took so long, without its blocks
  double block_seconds_ = 0;          ///< a block of the last epoch took so long
  bool one_at_a_time_ = false;        ///< the variants do not fit into memory together
  bool verified_ = false;             ///< all that were timed in this epoch were verified after it

 private:
  double (*now_)();
  double begin_;
  int dropped_ = 0;
};

}  // namespace assay::measure::detail
