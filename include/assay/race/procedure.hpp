// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to race.hpp: the procedure of a race, a qualification and then epochs over those left.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/measure/cell_size.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject_runner.hpp>
#include <assay/race/qualification.hpp>
#include <assay/race/result.hpp>
#include <assay/stats/elimination.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::measure::detail {

/// Runs one race.
template <class Clock>
class race_procedure {
 public:
  race_procedure(std::vector<variant> const& candidates, options const& chosen,
                 std::function<void(int, int, std::string_view)> progress, race_result so_far)
      : options_(chosen),
        progress_(std::move(progress)),
        runner_(candidates, chosen),
        record_(std::move(so_far)),
        began_(Clock::now()),
        earlier_seconds_(record_.seconds) {}

  race_result run() {
    try {
      qualify();
      while (!over() || !verified_) { over() ? qualify() : run_epoch(); }
    } catch (interruption const& cause) { record_.failure = cause.reason; }
    record_.seconds = earlier_seconds_ + elapsed();
    judge(record_, statistics());
    return std::move(record_);
  }

 private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

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
    record_.notes.push_back("the " + std::to_string(record_.epochs.size()) +
                            " epochs until then are void, as others were held against \"" +
                            each.name + "\", which failed");
    record_.epochs.clear();
  }

  epoch next_epoch() {
    int const number = record_.begun++;
    return {number, stats::derive_seed(record_.seed, static_cast<std::uint64_t>(number)), 0};
  }

  void tell(std::string const& what) const {
    if (!progress_) { return; }
    progress_(static_cast<int>(record_.epochs.size()) + 1, options_.max_epochs, what);
  }

  subjects build(epoch const& now, std::vector<std::size_t> const& order) {
    if (options_.at_epoch_begin) { options_.at_epoch_begin(now); }
    return runner_.build(now, order);
  }

  /// Builds and verifies each candidate in random order, and cuts off those that are far too long.
  /// Where there are epochs it only verifies: in a resumed race, and after a last epoch that
  /// failed.
  void qualify() {
    bool const has_epochs = !record_.epochs.empty();
    if (has_epochs) { statistics(); }
    auto order = racing();
    auto const now = next_epoch();
    stats::random_source from{stats::derive_seed(now.seed, 1)};
    from.shuffle(order);
    if (!has_epochs && options_.at_epoch_begin) { options_.at_epoch_begin(now); }
    // A part of the warm-up: the rest follows when all candidates are there.
    qualification qualifying{runner_, record_, now, from, options_.warm_up_seconds / 5};
    for (auto const i : order) {
      tell("qualifying " + record_.racers[i].name);
      try {
        if (has_epochs) {
          runner_.verify(build(now, {i}), "before timing", from);
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

  void cut(std::size_t candidate, std::size_t beside, double ratio) {
    take_out(candidate, "cut off: it takes " + stats::number_text(ratio) + " times as long as \"" +
                            record_.racers[beside].name + "\" beside it");
  }

  /// Builds all that are left anew and times them. An epoch in which one fails does not count.
  void run_epoch() {
    auto const now = next_epoch();
    stats::random_source from{stats::derive_seed(now.seed, 1)};
    auto order = racing();
    from.shuffle(order);
    tell(std::to_string(order.size()) + " of " + std::to_string(record_.racers.size()) + " left");
    disturbed_.clear();
    verified_ = false;
    try {
      if (one_at_a_time_) {
        run_one_at_a_time(now, order, from);
      } else if (!warm_) {
        warm_up(now, order, from);
      } else {
        run_together(now, order, from);
      }
    } catch (memory_shortage const& cause) {
      if (one_at_a_time_) { return failed(cause); }
      one_at_a_time_ = true;
      record_.notes.push_back(
          "the candidates do not fit into memory together, so each is built, timed and destroyed "
          "alone (" +
          cause.reason + "): drift within an epoch adds noise");
    } catch (interruption const& cause) { failed(cause); }
  }

  /// An epoch that only warms up, since clocks need time to ramp up. Its times choose the first
  /// leader, and long candidates are cut off. The epoch does not count: its leader would have the
  /// luck of its own builds.
  void warm_up(epoch const& now, std::vector<std::size_t> const& order,
               stats::random_source& from) {
    auto built = prepare(now, order, from);
    auto const launches = runner_.warm_up(built, from);
    warm_ = true;
    if (!record_.epochs.empty()) { return; }
    auto const left = racing();
    for (std::size_t k = 0; k < left.size(); ++k) { record_.racers[left[k]].guess = launches[k]; }
    size_cells();
    auto const fastest =
        left[static_cast<std::size_t>(std::ranges::min_element(launches) - launches.begin())];
    double const shortest = short_seconds / record_.launches;
    for (auto const i : left) {
      if (record_.racers[i].guess <= cut_off * record_.racers[fastest].guess) { continue; }
      auto const ratio = times_as_long(i, fastest, shortest, from, [&](std::size_t each, int set) {
        return seconds_of(built, each, set, from);
      });
      if (ratio) { cut(i, fastest, *ratio); }
    }
    size_cells();
  }

  /// Seconds of a launch, by a cell of the size that epochs have.
  double seconds_of(subjects const& built, std::size_t i, int set, stats::random_source& from) {
    auto const cell = timed_cell(runner_, *built[i], i, set, record_.launches, from);
    if (!cell.disturbance.empty()) { disturbed_ = cell.disturbance; }
    return cell[record_.primary];
  }

  void run_one_at_a_time(epoch const& now, std::vector<std::size_t> const& order,
                         stats::random_source& from) {
    if (record_.launches == 0) { size_cells(); }
    auto made = empty_epoch(order.size());
    for (auto const i : order) {
      auto const built = prepare(now, {i}, from);
      (void)runner_.warm_up(built, from);  // clocks fell while it was built
      time_all(now, built, from, made);
      runner_.verify(built, "after timing", from);
    }
    verified_ = true;
    close(made);
  }

  /// Verifies those that still race when the race is over: what was timed still lives.
  void run_together(epoch const& now, std::vector<std::size_t> const& order,
                    stats::random_source& from) {
    auto built = prepare(now, order, from);
    auto made = empty_epoch(order.size());
    time_all(now, built, from, made);
    close(made);
    if (options_.verify != verification::every_epoch && !over()) { return; }
    for (std::size_t i = 0; i < built.size(); ++i) {
      if (!statistics().racing(i)) { built[i].reset(); }
    }
    runner_.verify(built, "after timing", from);
    verified_ = true;
  }

  subjects prepare(epoch const& now, std::vector<std::size_t> const& order,
                   stats::random_source& from) {
    auto const begin = elapsed();
    auto built = build(now, order);
    if (options_.verify == verification::every_epoch) {
      runner_.verify(built, "before timing", from);
    }
    runner_.settle(built, from);
    set_up_seconds_ = elapsed() - begin;
    return built;
  }

  void size_cells() {
    std::vector<double> seconds;
    for (auto const i : racing()) { seconds.push_back(record_.racers[i].guess); }
    record_.launches = runner_.launches_for(seconds);
  }

  /// An epoch with so many left. It has up to 4 rounds where only a quarter is left, or where
  /// building takes longer than a round. Exchanged labels leave the number as it is.
  race_epoch empty_epoch(std::size_t left) const {
    double const share = static_cast<double>(record_.racers.size()) / static_cast<double>(left);
    double const building = round_seconds_ > 0 ? set_up_seconds_ / round_seconds_ : 0;
    int const rounds = static_cast<int>(std::clamp(std::max(share, building), 1.0, 4.0));
    return {2 * rounds, std::vector<double>(record_.racers.size(), not_measured)};
  }

  /// Times the subjects in rounds: a random order and its reverse, in which each candidate has one
  /// cell in either buffer set. So linear drift and buffer sets cancel within a round. The time of
  /// an epoch is the mean of all its cells: none is left out because it is long.
  void time_all(epoch const& now, subjects const& built, stats::random_source& from,
                race_epoch& into) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < built.size(); ++i) {
      if (built[i]) { order.push_back(i); }
    }
    for (auto const i : order) { into.seconds[i] = 0; }
    auto const begin = elapsed();
    for (int round = 0; round < into.cells / 2; ++round) {
      from.shuffle(order);
      std::vector<int> set(order.size());
      for (auto& each : set) { each = from.flip() ? 1 : 0; }
      for (std::size_t k = 0; k < 2 * order.size(); ++k) {
        bool const back = k >= order.size();
        auto const at = back ? 2 * order.size() - 1 - k : k;
        auto const i = order[at];
        into.seconds[i] += seconds_of(built, i, back ? 1 - set[at] : set[at], from) / into.cells;
      }
    }
    round_seconds_ = (elapsed() - begin) / (into.cells / 2);
    for (auto const i : order) {
      for (auto const& each : runner_.caveats(*built[i], i)) {
        (void)add_distinct(record_.notes, each);
      }
    }
    if (!options_.at_epoch_end) { return; }
    for (auto const& reason : options_.at_epoch_end(now)) { disturbed_ = reason; }
  }

  /// Counts an epoch, unless it was disturbed.
  void close(race_epoch const& made) {
    out_of_time_ = elapsed() > options_.max_seconds;  // once: the last epoch has to know it
    if (disturbed_.empty()) {
      statistics().add_epoch(logs(made.seconds));
      record_.epochs.push_back(made);
      return;
    }
    // Half of the epochs may be disturbed; beyond that the machine is not fit to measure on.
    if (++dropped_ >= 8 && dropped_ > static_cast<int>(record_.epochs.size())) {
      throw interruption{
          verdict::unproven,
          std::to_string(dropped_) + " epochs were disturbed, the last by: " + disturbed_};
    }
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

  options const& options_;
  std::function<void(int, int, std::string_view)> progress_;
  subject_runner runner_;
  race_result record_;
  typename Clock::time_point began_;
  double earlier_seconds_;
  std::optional<stats::elimination> statistics_;
  std::string disturbed_;  ///< why the current epoch does not count
  int dropped_ = 0;
  bool warm_ = false, one_at_a_time_ = false, out_of_time_ = false;
  bool verified_ = false;  ///< those left were verified since they were last timed
  double set_up_seconds_ = 0, round_seconds_ = 0;  ///< of the last epoch
};

}  // namespace assay::measure::detail
