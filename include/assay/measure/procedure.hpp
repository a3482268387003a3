// SPDX-License-Identifier: Apache-2.0
/// @file
/// The procedure of a comparison: builds subjects, times cells, analyses, stops.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/measure/cell_size.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/conclude.hpp>
#include <assay/measure/epoch_effects.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/stats/group_sequential.hpp>
#include <assay/stats/randomised_blocks.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::measure {
namespace detail {

/// The cause of an early end; `variant` is -1 where no variant caused it.
struct interruption {
  verdict outcome = verdict::unproven;
  std::string reason;
  int variant = -1;
};

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
        instances_(variants.size() + (chosen.hidden_control ? 1 : 0)) {
    record_.seed = chosen.seed == 0 ? stats::draw_seed() : chosen.seed;
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
    conclude(variants_, contrasts_, options_, effects_, size_, end_, record_);
    record_.seconds = elapsed();
    return std::move(record_);
  }

 private:
  using subjects = std::vector<std::unique_ptr<subject>>;

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  /// Builds everything anew, times it, and analyses where an analysis is due; true when the
  /// comparison is decided. The subjects live to the end of the epoch, so that the timed ones can
  /// be verified. Every order is drawn anew, so that exchanged labels are just as probable.
  bool run_epoch(epoch const& now) {
    stats::random_source from{stats::derive_seed(now.seed, 1)};
    auto& record = record_.epoch_records.emplace_back();
    open_ = true;
    record.number = now.number;
    record.start_seconds = elapsed();
    position_ = 0;
    if (options_.at_epoch_begin) { options_.at_epoch_begin(now); }
    auto const built = build(now, from);
    bool const every = options_.verify == verification::every_epoch;
    if (now.number == 0 || every) { verify(built, "before timing", from); }
    settle(built, from);
    if (now.number == 0) { size_ = warm_up(built, from); }
    double const set_up = elapsed() - record.start_seconds;
    tell("timing");
    for (auto const i : stats::draw_order(instances_, from)) {
      guarded(i, "warming up", [&] { built[i]->warm(from.flip() ? 1 : 0, 1); });
    }
    record.blocks = blocks_for(effects_, primary_, contrasts_.size(), options_.margin,
                               std::max(0.05, 2 * set_up) / block_seconds_);
    auto const timed_from = elapsed();
    for (auto const& block : stats::draw_epoch(static_cast<int>(instances_), record.blocks, from)) {
      time(built, block, record);
    }
    block_seconds_ = (elapsed() - timed_from) / record.blocks;
    for (std::size_t v = 0; v < variants_.size(); ++v) {  // in each epoch: they may change
      for (auto const& each : guarded(v, "timing", [&] { return built[v]->caveats(); })) {
        add_distinct(end_.caveats, each);
      }
    }
    bool const decided = close_epoch(now, record);
    if (decided || every) { verify(built, "after timing", from); }
    record.seconds = elapsed() - record.start_seconds;
    return decided;
  }

  /// Counts the epoch, or drops a disturbed one; true when it was the last.
  bool close_epoch(epoch const& now, epoch_record& record) {
    if (options_.throttle_bits) { record.throttle = options_.throttle_bits(); }
    if (options_.at_epoch_end) {
      for (auto const& reason : options_.at_epoch_end(now)) {
        record.dropped += (record.dropped.empty() ? "" : "; ") + reason;
      }
    }
    if (!record.dropped.empty()) {
      effects_.drop_epoch();
      int const dropped = now.number + 1 - effects_.epochs();
      // Half of the epochs may be disturbed; beyond that the machine is not fit to measure on.
      if (dropped >= 8 && dropped > effects_.epochs()) {
        throw interruption{verdict::unproven,
                           std::to_string(dropped) + " of " + std::to_string(now.number + 1) +
                               " epochs were disturbed, the last by: " + record.dropped};
      }
      return false;
    }
    effects_.close_epoch();
    open_ = false;
    return analyse() || effects_.epochs() == options_.max_epochs || out_of_time();
  }

  /// Builds in random order, because the first subject gets other memory than the last.
  subjects build(epoch const& now, stats::random_source& from) {
    tell("building");
    subjects built(instances_);
    for (auto const i : stats::draw_order(instances_, from)) {
      stop_if_cancelled();
      auto own = now;
      own.instance = i < variants_.size() ? 0 : 1;
      built[i] = guarded(i, "building", [&] {
        auto made = variants_[variant_of(i)].build(own);
        if (!made) { throw std::runtime_error("its build function returned no subject"); }
        return made;
      });
    }
    return built;
  }

  /// Calls `body(instance, buffer set)` for each pair of them in a random order.
  template <class Body>
  void for_each_set(stats::random_source& from, Body&& body) {
    for (auto const i : stats::draw_order(2 * instances_, from)) {
      stop_if_cancelled();
      body(i / 2, static_cast<int>(i % 2));
    }
  }

  /// The control's second instance has the code of the first, and is not verified again.
  void verify(subjects const& built, char const* when, stats::random_source& from) {
    tell("verifying");
    for_each_set(from, [&](std::size_t i, int set) {
      if (i >= variants_.size()) { return; }
      auto const wrong = guarded(i, "verifying", [&] { return built[i]->verify(set); });
      if (!wrong) { return; }
      throw interruption{
          verdict::wrong_answer,
          where(i) + ", " + when + ", buffer set " + std::to_string(set) + ": " + *wrong,
          static_cast<int>(variant_of(i))};
    });
  }

  /// Runs two launches in every buffer set of new subjects. The first grows pools, loads modules
  /// and uploads graphs; the second runs like all later ones.
  void settle(subjects const& built, stats::random_source& from) {
    for_each_set(from, [&](std::size_t i, int set) {
      guarded(i, "warming up", [&] { built[i]->warm(set, 2); });
    });
  }

  /// Runs all instances in rounds until `is_steady` or `options::warm_up_seconds`, because clocks
  /// need tens of milliseconds to ramp up. Returns the size of cells.
  cell_size warm_up(subjects const& built, stats::random_source& from) {
    tell("warming up");
    cell_size size{0, 1};
    std::vector<std::vector<double>> rounds;
    double spent = 0;
    do {
      std::vector<double> round(instances_);
      for_each_set(from, [&](std::size_t i, int set) {
        auto const timed = guarded(
            i, "warming up", [&] { return longest_clock(built[i]->time(set, size.launches)); });
        round[i] += timed / 2;
        spent += timed * size.launches;
      });
      auto const [low, high] = std::minmax_element(round.begin(), round.end());
      int const most = options_.most_launches.value_or(200);
      size = size_cells(*low, *high, options_.cell_seconds, most);
      rounds.push_back(std::move(round));
    } while (!is_steady(rounds) && spent < options_.warm_up_seconds && rounds.size() < 100);
    for (std::size_t v = 0; v < variants_.size(); ++v) {
      end_.bytes.push_back(built[v]->bytes());
      end_.flops.push_back(built[v]->flops());
    }
    return size;
  }

  void time(subjects const& built, stats::block const& block, epoch_record& record) {
    std::vector<cell> cells;
    cells.reserve(block.slots.size());
    for (auto const& slot : block.slots) {
      stop_if_cancelled();
      auto const i = static_cast<std::size_t>(slot.variant);
      double const start = elapsed();
      cells.push_back(guarded(i, "timing", [&] {
        built[i]->warm(slot.buffer_set, size_.wash_out);
        return built[i]->time(slot.buffer_set, size_.launches);
      }));
      auto const& timed = cells.back();
      double const seconds = timed[primary_];
      if (!(seconds > 0) || !std::isfinite(seconds)) {
        throw interruption{verdict::unproven,
                           where(i) + ": the " + std::string{to_string(primary_)} + " clock gave " +
                               stats::number_text(seconds) +
                               " s per launch; choose another clock or longer launches",
                           static_cast<int>(variant_of(i))};
      }
      if (!timed.disturbance.empty() && record.dropped.empty()) {
        record.dropped = "\"" + variants_[variant_of(i)].label + "\": " + timed.disturbance;
      }
      record_.cells.push_back({record.number, position_++, slot.variant, slot.buffer_set, start,
                               timed.seconds, timed.sm_hertz});
    }
    effects_.add_block(block, cells);
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
      auto const found = stats::classify(effects_.effects(primary_, k), *due, options_.margin);
      record.outcomes.push_back(found.outcome);
      all_settled = all_settled && stats::settled(found, options_.run_until_sign);
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

  /// Runs a subject's code. An exception ends the comparison, and its text is reported.
  template <class Call>
  std::invoke_result_t<Call> guarded(std::size_t instance, char const* doing, Call&& call) {
    auto const ended = [&](std::string const& why) {
      return interruption{verdict::unproven, where(instance) + ", " + doing + ": " + why,
                          static_cast<int>(variant_of(instance))};
    };
    try {
      return call();
    } catch (std::exception const& cause) { throw ended(cause.what()); } catch (...) {
      throw ended("an exception of unknown type");
    }
  }

  void stop_if_cancelled() const {
    if (options_.cancelled && options_.cancelled()) {
      throw interruption{verdict::unproven, "cancelled in epoch " + std::to_string(number_ + 1)};
    }
  }

  void tell(std::string_view what) const {
    if (options_.progress) { options_.progress(number_ + 1, options_.max_epochs, what); }
  }

  /// The variant of an instance: the control's second instance is of variant 0.
  std::size_t variant_of(std::size_t instance) const noexcept {
    return instance < variants_.size() ? instance : 0;
  }

  std::string where(std::size_t instance) const {
    auto const& label = variants_[variant_of(instance)].label;
    return "variant \"" + label + "\", epoch " + std::to_string(number_ + 1);
  }

  std::vector<variant> const& variants_;
  std::vector<contrast> const& contrasts_;
  options const& options_;
  clock primary_;
  std::vector<stats::interim_analysis> analyses_;
  epoch_effects effects_;
  std::size_t instances_;
  cell_size size_;
  run_outcome end_;
  comparison record_;
  typename Clock::time_point begin_;
  double block_seconds_ = 0;
  bool open_ = false;              ///< the cells of the current epoch do not count yet
  int number_ = 0, position_ = 0;  ///< the current epoch, its next cell
};

}  // namespace detail

/// Measures the variants and classifies each contrast on every clock that all variants have.
///
/// Builds all variants in each epoch, and a second instance of the first one, so memory for one
/// more is needed. Verifies all buffer sets before anything is timed and again at the end. Times in
/// randomised blocks (`stats/randomised_blocks.hpp`). Stops at the first interim analysis at which
/// all contrasts are settled on the primary clock, or when the time is spent. An epoch that
/// `options::at_epoch_end` or a cell calls disturbed is dropped and repeated. Blocks until the end.
/// An exception of a subject becomes the reason of UNPROVEN findings. Throws
/// `std::invalid_argument` for variants, contrasts or options that `validate` refuses.
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
