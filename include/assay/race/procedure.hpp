// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to race.hpp: the procedure of a race, a qualification and then epochs over those left.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/measure/epoch_loop.hpp>
#include <assay/measure/guards.hpp>
#include <assay/measure/options.hpp>
#include <assay/race/judgement.hpp>
#include <assay/race/qualification.hpp>
#include <assay/race/result.hpp>
#include <assay/stats/elimination.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::measure::detail {

/// Runs one race.
class race_procedure final : epoch_loop {
 public:
  race_procedure(std::vector<variant> const& candidates, options const& chosen,
                 std::function<void(int, int, std::string_view)> progress, race_result so_far,
                 double (*now)())
      : epoch_loop(candidates, chosen, so_far.seed, now),
        progress_(std::move(progress)),
        record_(std::move(so_far)),
        earlier_seconds_(record_.seconds) {
    launches_ = record_.launches;
  }

  race_result run() {
    try {
      qualify();
      while (!over() || !verified_) { over() ? qualify() : run_next(); }
    } catch (interruption const& cause) { record_.failure = cause.reason; }
    record_.seconds = earlier_seconds_ + elapsed();
    record_.launches = launches_;
    note_checks();
    for (auto const& each : caveats_) { (void)add_distinct(record_.notes, each); }
    judge(record_, statistics());
    doubt_empty_work();
    return std::move(record_);
  }

 private:
  /// Made at its first use: the warm-up of the first epoch improves the first guesses.
  stats::elimination& statistics() {
    if (!statistics_) { statistics_ = replayed(record_); }
    return *statistics_;
  }

  std::vector<std::size_t> racing() {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < record_.racers.size(); ++i) {
      if (statistics_ ? statistics_->racing(i) : record_.racers[i].out.empty()) {
        left.push_back(i);
      }
    }
    return left;
  }

  /// Takes out the candidate that failed; other causes end the race.
  void failed(interruption const& cause) {
    if (cause.variant < 0) { throw interruption{cause}; }
    take_out(static_cast<std::size_t>(cause.variant), cause.reason);
  }
  /// If others were held against the candidate, all epochs are void.
  void take_out(std::size_t candidate, std::string const& why) {
    auto& each = record_.racers[candidate];
    each.out = why;
    if (statistics_ && !statistics_->has_led(candidate)) {
      statistics_->remove(candidate);
      return;
    }
    statistics_.reset();
    if (record_.epochs.empty()) { return; }
    record_.notes.push_back(concat({"the ", std::to_string(record_.epochs.size()),
                                    " epochs until then are void, as others were held against \"",
                                    each.name, "\", which failed"}));
    record_.epochs.clear();
  }

  void tell(std::string const& what) const {
    if (!progress_) { return; }
    progress_(static_cast<int>(record_.epochs.size()) + 1, options_.max_epochs, what);
  }

  /// Builds and verifies each candidate in random order, and cuts off those that are far too long.
  /// Where there are epochs it only verifies: in a resumed race, and after a last epoch that
  /// failed.
  void qualify() {
    bool const has_epochs = !record_.epochs.empty();
    if (has_epochs) { statistics(); }
    open(record_.begun++);
    if (!has_epochs && options_.at_epoch_begin) { options_.at_epoch_begin(current_.now); }
    auto& from = current_.from;
    // A part of the warm-up: the rest follows when all candidates are there.
    qualification qualifying{runner_, record_, current_.now, from, options_.warm_up_seconds / 5};
    for (auto const i : shuffled(racing())) {
      tell("qualifying " + record_.racers[i].name);
      try {
        if (has_epochs) {
          auto const built = build({i});
          runner_.verify(built, "before timing", from);
          look_at(built);  // a race that goes on may have its last epoch behind it
        } else if (auto const found = qualifying.examine(i)) {
          cut(found->candidate, found->beside, found->ratio);
        }
      } catch (interruption const& cause) {
        failed(cause);
        qualifying.forget(static_cast<std::size_t>(cause.variant));
      }
    }
    verified_ = true;
  }

  void look_at(subjects const& built) override {
    auto const empty = runner_.time_empty(built, launches_, current_.from);
    if (empty && empty->disturbance.empty()) { empty_calls_.push_back(*empty); }
  }

  /// A leader that takes no longer than a call that does nothing is no winner: the place of its
  /// code explains up to 60 %. On a device it may be a short kernel, so that is a note.
  void doubt_empty_work() {
    if (record_.leader < 0) { return; }
    auto const median = [&](clock on) {
      std::vector<double> all;
      for (auto const& each : empty_calls_) { all.push_back(each[on]); }
      return stats::summarise(all).median;
    };
    bool const on_host = !(median(clock::gpu) > 0);
    auto const& best = record_.best();
    auto const why = empty_call_veto(best.name, best.seconds, median(record_.primary), on_host);
    if (!why) { return; }
    if (!on_host || !record_.failure.empty()) {
      record_.notes.push_back(*why);
    } else {
      record_.decided = false;
      record_.failure = *why;
    }
  }

  void cut(std::size_t candidate, std::size_t beside, double ratio) {
    take_out(candidate,
             concat({"cut off: it takes ", stats::number_text(ratio), " times as long as \"",
                     record_.racers[beside].name, "\" beside it"}));
  }

  /// Runs an epoch over all that are left. An epoch in which one fails does not count.
  void run_next() {
    auto const left = racing();
    open(record_.begun++);
    tell(concat(
        {std::to_string(left.size()), " of ", std::to_string(record_.racers.size()), " left"}));
    try {
      if (!warm_ && !one_at_a_time_) { return warm_up(left); }
      if (launches_ == 0) { size_by_guesses(); }
      run_epoch(left);
    } catch (memory_shortage const& cause) {
      one_at_a_time_ ? failed(cause) : separate(cause);
    } catch (interruption const& cause) { failed(cause); }
  }

  /// An epoch that only warms up, since clocks need time to ramp up. Its times choose the first
  /// leader, and long candidates are cut off. The epoch does not count: its leader would have the
  /// luck of its own builds.
  void warm_up(std::vector<std::size_t> const& left) {
    auto const built = prepare(shuffled(left));
    auto const seconds = runner_.warm_up(built, current_.from);
    warm_ = true;
    if (!record_.epochs.empty()) { return; }
    for (std::size_t k = 0; k < left.size(); ++k) { record_.racers[left[k]].guess = seconds[k]; }
    size_by_guesses();
    auto const fastest =
        left[static_cast<std::size_t>(std::ranges::min_element(seconds) - seconds.begin())];
    double const shortest = short_seconds / launches_;
    for (auto const i : left) {
      if (record_.racers[i].guess <= cut_off * record_.racers[fastest].guess) { continue; }
      auto const time = [&](std::size_t each, int set) {
        return timed_cell(runner_, *built[each], each, set, launches_,
                          current_.from)[record_.primary];
      };
      auto const ratio = times_as_long(i, fastest, shortest, current_.from, time);
      if (ratio) { cut(i, fastest, *ratio); }
    }
    size_by_guesses();
  }

  void size_by_guesses() {
    std::vector<double> seconds;
    for (auto const i : racing()) { seconds.push_back(record_.racers[i].guess); }
    size_cells(seconds);
  }

  /// Rounds: a random order and its reverse, in which each candidate has one cell in either buffer
  /// set. So linear drift and buffer sets cancel within a round. There are up to 4 rounds where
  /// only a quarter is left, or where building takes longer than a round. Exchanged labels leave
  /// the number as it is.
  std::vector<stats::block> draw_blocks() override {
    auto order = racing();
    double const share =
        static_cast<double>(record_.racers.size()) / static_cast<double>(order.size());
    double const building = block_seconds_ > 0 ? set_up_seconds_ / block_seconds_ : 0;
    std::vector<stats::block> rounds(
        static_cast<std::size_t>(std::clamp(std::max(share, building), 1.0, 4.0)));
    for (auto& round : rounds) {
      current_.from.shuffle(order);
      for (auto const i : order) {
        round.slots.push_back({static_cast<int>(i), current_.from.flip() ? 1 : 0});
      }
      for (auto k = order.size(); k-- > 0;) {
        auto const [candidate, set] = round.slots[k];
        round.slots.push_back({candidate, 1 - set});
      }
    }
    return rounds;
  }

  /// The time of an epoch is the mean of all its cells: none is left out because it is long.
  bool close(subjects& built) override {
    // Once: the last epoch has to know it, because its subjects are verified.
    out_of_time_ = elapsed() + runner_.checking_seconds(racing().size()) > options_.max_seconds;
    if (!current_.record.dropped.empty()) {
      drop(static_cast<int>(record_.epochs.size()));
      return over();
    }
    race_epoch made{2 * current_.record.blocks,
                    std::vector<double>(record_.racers.size(), not_measured)};
    for (auto const i : racing()) { made.seconds[i] = 0; }
    for (std::size_t b = 0; b < current_.blocks.size(); ++b) {
      auto const cells = current_.cells_of(b);
      for (std::size_t s = 0; s < cells.size(); ++s) {
        auto const i = static_cast<std::size_t>(current_.blocks[b].slots[s].variant);
        made.seconds[i] += cells[s][record_.primary] / made.cells;
      }
    }
    statistics().add_epoch(logs(made.seconds));
    record_.epochs.push_back(std::move(made));
    for (std::size_t i = 0; i < built.size(); ++i) {
      if (!statistics().racing(i)) { built[i].reset(); }
    }
    return over();
  }

  /// True when the race is decided, or its epochs or its time are spent.
  bool over() {
    if (racing().empty()) {
      throw interruption{verdict::unproven, "no candidate is left: " + record_.racers[0].out};
    }
    if (record_.epochs.empty()) { return false; }
    return statistics().decided() ||
           static_cast<int>(record_.epochs.size()) >= options_.max_epochs || out_of_time_;
  }

  std::function<void(int, int, std::string_view)> progress_;
  race_result record_;
  double earlier_seconds_;
  std::optional<stats::elimination> statistics_;
  std::vector<cell> empty_calls_;
  bool warm_ = false, out_of_time_ = false;
};

}  // namespace assay::measure::detail
