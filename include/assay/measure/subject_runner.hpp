// SPDX-License-Identifier: Apache-2.0
/// @file
/// `subject_runner`: runs the code of subjects in cells of one size, and turns each failure into an
/// interruption.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/randomised_blocks.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::measure {

/// Launches longer than this have one launch in a cell, and so 4 in an epoch instead of 16.
inline constexpr double long_launch_seconds = 20e-3;

/// The timed launches of every cell, for variants with launches between `fastest` and `slowest`
/// seconds. All variants have one number, because a fixed cost per cell (an event pair, a drain)
/// must be spread over equally many launches.
///
/// - Enough of the fastest to fill `cell_seconds`, at most `most_launches`. Cells of the slowest
/// take
///   at most ten times `cell_seconds`.
/// - At least 4, so that an epoch has 16 launches of each variant; at least 5 below 0.2 ms. Where
///   one simulated call in 20 is slow, 4 launches in an epoch give intervals of 67 %.
/// - One where the slowest takes more than 20 ms.
inline int launches_per_cell(double fastest, double slowest, double cell_seconds,
                             int most_launches = 200, double with_preparation = 0) {
  if (!(cell_seconds > 0) || !std::isfinite(cell_seconds)) {
    throw std::invalid_argument("cell_seconds is positive, not " +
                                stats::number_text(cell_seconds));
  }
  auto const to_fill = [&](double seconds, double launch) {
    return std::clamp(std::ceil(seconds / std::max(launch, 1e-12)), 1.0, 1.0 * most_launches);
  };
  double const least = slowest > long_launch_seconds ? 1 : fastest < 0.2e-3 ? 5 : 4;
  return static_cast<int>(
      std::min(std::max(least, to_fill(cell_seconds, fastest)),
               std::max(least, to_fill(10 * cell_seconds, std::max(slowest, with_preparation)))));
}

/// True when the last three rounds of a warm-up agree within 0.5 % in the time of every variant.
inline bool is_steady(std::vector<std::vector<double>> const& rounds) {
  if (rounds.size() < 3) { return false; }
  auto const last = rounds.end() - 3;
  for (std::size_t i = 0; i < last[0].size(); ++i) {
    auto const [low, high] = std::minmax({last[0][i], last[1][i], last[2][i]});
    if (!(high - low <= 0.005 * high)) { return false; }
  }
  return true;
}

/// The longest time of a cell over its clocks: the time for which it kept the machine; 0 of none.
inline double longest_clock(cell const& measured) noexcept {
  double longest = 0;
  for (double const seconds : measured.seconds) {
    if (std::isfinite(seconds)) { longest = std::max(longest, seconds); }
  }
  return longest;
}

namespace detail {

/// The cause of an early end; `variant` is -1 where no variant caused it.
struct interruption {
  verdict outcome = verdict::unproven;
  std::string reason;
  int variant = -1;
};

/// A call that ran out of memory.
struct memory_shortage : interruption {};

/// The subjects of an epoch, by instance; null where an instance is not built. The control's second
/// instance comes after all variants. All are asked to end before the first is destroyed.
struct subjects : std::vector<std::unique_ptr<subject>> {
  explicit subjects(std::size_t instances) : vector(instances) {}
  subjects(subjects&&) = default;
  ~subjects() {
    for (auto const& each : *this) {
      if (each) { each->begin_to_end(); }
    }
  }
};

/// Builds, verifies, warms up and times the subjects of one comparison, in orders that are drawn
/// anew each time, so that exchanged labels are just as probable.
class subject_runner {
 public:
  subject_runner(std::vector<variant> const& variants, options const& chosen)
      : variants_(variants),
        options_(chosen),
        instances_(variants.size() + (chosen.hidden_control ? 1 : 0)),
        primary_(chosen.clock.value_or(clock::wall)) {}

  /// The step that `tell` names before each verification, followed by the label.
  static constexpr std::string_view verifying = "verifying ";

  std::size_t instances() const noexcept { return instances_; }
  /// The seconds of all verifications so far.
  double checking_seconds() const noexcept { return checking_.count(); }
  /// The seconds that one more verification of so many subjects is expected to take.
  double checking_seconds(std::size_t subjects) const noexcept {
    return checks_ == 0 ? 0 : checking_.count() / checks_ * 2 * static_cast<double>(subjects);
  }
  /// The label of an instance's variant.
  std::string const& label(std::size_t instance) const {
    return variants_[variant_of(instance)].label;
  }

  void tell(std::string_view what) const {
    if (options_.progress) { options_.progress(now_.number + 1, options_.max_epochs, what); }
  }

  /// Builds subjects of an epoch in this order. The caller draws the order, because the first
  /// subject gets other memory than the last.
  subjects build(epoch const& now, std::vector<std::size_t> const& order) {
    now_ = now;
    tell("building");
    subjects built(instances_);
    for (auto const i : order) {
      stop_if_cancelled();
      auto own = now;
      own.instance = i < variants_.size() ? 0 : 1;
      own.decides = primary_;
      built[i] = guarded(i, "building", [&] {
        auto made = variants_[variant_of(i)].build(own);
        if (!made) { throw std::runtime_error("its build function returned no subject"); }
        return made;
      });
    }
    for (auto const i : order) {
      guarded(i, "building", [&] { built[i]->finish_building(); });
    }
    return built;
  }

  /// Asks each subject how many of its results are checked. Ends the comparison where these are not
  /// all of them and `options::require_checks` asks for all.
  void learn_checks(subjects const& built, std::vector<std::optional<checks>>& into) const {
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      if (built[i]) {
        into[i] = guarded(i, "building", [&] { return built[i]->checked(); });
      }
    }
    for (std::size_t i = 0; i < variants_.size() && options_.require_checks; ++i) {
      if (!built[i] || into[i] == checks::all) { continue; }
      throw interruption{
          verdict::unproven,
          concat(
              {"the results of \"", label(i), "\" are ", to_string(*into[i]),
               ", and require_checks asks for checks of all: say what is right by setup.expect for "
               "each output and inout of a factory, or drop require_checks"}),
          static_cast<int>(i)};
    }
  }

  /// The control's second instance has the code of the first, and is not verified again.
  void verify(subjects const& built, char const* when, stats::random_source& from) {
    for_each_set(built, from, [&](std::size_t i, int set) {
      if (i >= variants_.size()) { return; }
      tell(std::string{verifying} + label(i));
      auto const begin = std::chrono::steady_clock::now();
      auto const wrong = guarded(i, "verifying", [&] { return built[i]->verify(set); });
      checking_ += std::chrono::steady_clock::now() - begin;
      ++checks_;
      if (!wrong) { return; }
      throw interruption{
          verdict::wrong_answer,
          concat({where(i), ", ", when, ", buffer set ", std::to_string(set), ": ", *wrong}),
          static_cast<int>(variant_of(i))};
    });
  }

  /// Runs two launches in every buffer set of new subjects. The first grows pools, loads modules
  /// and uploads graphs; the second runs like all later ones.
  void settle(subjects const& built, stats::random_source& from) {
    for_each_set(built, from, [&](std::size_t i, int set) {
      guarded(i, "warming up", [&] { built[i]->warm(set, 2); });
    });
  }

  /// Runs all subjects in rounds until `is_steady` or `options::warm_up_seconds`, because clocks
  /// need tens of milliseconds to ramp up. Returns the seconds of a launch of each subject.
  std::vector<double> warm_up(subjects const& built, stats::random_source& from) {
    tell("warming up");
    int launches = 1;
    std::vector<std::vector<double>> rounds;
    double spent = 0;
    do {
      std::vector<double> seconds(instances_);
      with_preparation_ = 0;
      for_each_set(built, from, [&](std::size_t i, int set) {
        auto const begin = std::chrono::steady_clock::now();
        auto const timed =
            guarded(i, "warming up", [&] { return longest_clock(built[i]->time(set, launches)); });
        std::chrono::duration<double> const whole = std::chrono::steady_clock::now() - begin;
        with_preparation_ = std::max(with_preparation_, whole.count() / launches);
        seconds[i] += timed / 2;
        spent += std::max(timed * launches, whole.count());
      });
      std::vector<double> round;
      for (std::size_t i = 0; i < instances_; ++i) {
        if (built[i]) { round.push_back(seconds[i]); }
      }
      launches = launches_for(round);
      rounds.push_back(std::move(round));
    } while (!is_steady(rounds) && spent < options_.warm_up_seconds && rounds.size() < 100);
    return rounds.back();
  }

  /// The timed launches of a cell, for launches of so many seconds.
  int launches_for(std::vector<double> const& seconds) const {
    auto const [low, high] = std::minmax_element(seconds.begin(), seconds.end());
    return launches_per_cell(*low, *high, options_.cell_seconds,
                             options_.most_launches.value_or(200), with_preparation_);
  }

  /// Runs and times one cell. The primary clock must have a time for it.
  ///
  /// 2 to 4 untimed launches come first, by one law for all variants. The first finds the caches of
  /// the variant before, and the second is clear of it. Their number is random, because calls that
  /// are slow with a fixed period would else fall on the same launches again and again.
  cell time(subject& timed, stats::slot const& slot, int launches, stats::random_source& from) {
    stop_if_cancelled();
    auto const i = static_cast<std::size_t>(slot.variant);
    int const untimed = 2 + static_cast<int>(from.below(3));
    auto const measured = guarded(i, "timing", [&] {
      timed.warm(slot.buffer_set, untimed);
      return timed.time(slot.buffer_set, launches);
    });
    double const seconds = measured[primary_];
    if (seconds > 0 && std::isfinite(seconds)) { return measured; }
    throw interruption{verdict::unproven,
                       concat({where(i), ": the ", to_string(primary_), " clock gave ",
                               stats::number_text(seconds),
                               " s per launch; choose another clock or longer launches"}),
                       static_cast<int>(variant_of(i))};
  }

  /// Times a cell of calls that do nothing, by a subject that is drawn; nothing where it has none.
  std::optional<cell> time_empty(subjects const& built, int launches, stats::random_source& from) {
    for (auto const i : stats::draw_order(instances_, from)) {
      if (!built[i]) { continue; }
      return guarded(i, "timing", [&] { return built[i]->time_empty(launches); });
    }
    return {};
  }

  std::vector<std::string> caveats(subject const& of, std::size_t instance) const {
    return guarded(instance, "timing", [&] { return of.caveats(); });
  }

 private:
  /// Calls `body(instance, buffer set)` for each buffer set of each subject in a random order.
  template <class Body>
  void for_each_set(subjects const& built, stats::random_source& from, Body&& body) {
    for (auto const i : stats::draw_order(2 * instances_, from)) {
      if (!built[i / 2]) { continue; }
      stop_if_cancelled();
      body(i / 2, static_cast<int>(i % 2));
    }
  }

  /// Runs a subject's code. An exception ends the comparison, and its text is reported.
  template <class Call>
  std::invoke_result_t<Call> guarded(std::size_t instance, char const* doing, Call&& call) const {
    try {
      return call();
    } catch (...) { end(instance, doing); }
  }

  /// Throws the interruption for the exception that is being handled.
  [[noreturn]] void end(std::size_t instance, char const* doing) const {
    auto const ended = [&](std::string const& why) {
      return interruption{verdict::unproven, concat({where(instance), ", ", doing, ": ", why}),
                          static_cast<int>(variant_of(instance))};
    };
    try {
      throw;
    } catch (std::exception const& cause) {
      if (mr::is_out_of_memory(cause)) { throw memory_shortage{ended(cause.what())}; }
      throw ended(cause.what());
    } catch (...) { throw ended("an exception of unknown type"); }
  }

  void stop_if_cancelled() const {
    if (options_.cancelled && options_.cancelled()) {
      throw interruption{verdict::unproven, "cancelled in " + epoch_text()};
    }
  }

  /// The variant of an instance: the control's second instance is of variant 0.
  std::size_t variant_of(std::size_t instance) const noexcept {
    return instance < variants_.size() ? instance : 0;
  }

  std::string epoch_text() const { return "epoch " + std::to_string(now_.number + 1); }
  std::string where(std::size_t instance) const {
    return concat({"variant \"", label(instance), "\", ", epoch_text()});
  }

  std::vector<variant> const& variants_;
  options const& options_;
  std::size_t instances_;
  clock primary_;
  double with_preparation_ = 0;  ///< the longest launch of the last warm-up and what preceded it
  std::chrono::duration<double> checking_{};
  int checks_ = 0;
  epoch now_;
};

}  // namespace detail
}  // namespace assay::measure
