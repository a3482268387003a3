// SPDX-License-Identifier: Apache-2.0
/// @file
/// Measures variants against each other: the whole procedure, from subjects to findings.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/measure/cell_size.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/findings.hpp>
#include <assay/measure/ledger.hpp>
#include <assay/measure/looks.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/preconditions.hpp>
#include <assay/measure/schedule.hpp>
#include <assay/measure/subject.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <exception>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::measure {
namespace detail {

/// Why a comparison ended before its time; `variant` is -1 where no variant is to blame.
struct interruption {
  verdict outcome = verdict::unproven;
  std::string reason;
  int variant = -1;
};

/// One comparison on its way through its epochs.
template <class Clock>
class procedure {
 public:
  procedure(std::vector<variant> const& variants, std::vector<contrast> const& contrasts,
            options const& chosen)
      : variants_(variants),
        contrasts_(contrasts),
        options_(chosen),
        seed_(chosen.seed == 0 ? draw_seed() : chosen.seed),
        looks_(draw_up_looks(chosen.max_epochs, chosen.alpha, contrasts.size())),
        ledger_(variants.size(), contrasts) {}

  comparison run() {
    auto const begin = Clock::now();
    try {
      bool decided = false;
      for (int number = 0; !decided && number < options_.max_epochs; ++number) {
        decided = run_epoch({number, derive_seed(seed_, static_cast<std::uint64_t>(number))});
      }
    } catch (interruption const& cause) {
      end_.outcome = cause.outcome;
      end_.reason = cause.reason;
      end_.variant = cause.variant;
    }
    auto result = conclude(variants_, contrasts_, options_, ledger_, size_, end_);
    result.seed = seed_;
    result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return result;
  }

 private:
  using subjects = std::vector<std::unique_ptr<subject>>;

  /// Builds everything anew, times it, and looks where a look is due; true when it is decided. The
  /// subjects live to the end of the epoch, so that those just timed can be verified.
  bool run_epoch(epoch const& now) {
    current_ = now.number;
    coins from{derive_seed(now.seed, 1)};
    if (options_.at_epoch_begin) { options_.at_epoch_begin(now); }
    auto const built = build(now, from);
    bool const every = options_.verify == verification::every_epoch;
    if (now.number == 0 || every) { verify(built, "before timing"); }
    settle(built);
    if (now.number == 0) { size_ = warm_up(built); }
    tell("timing");
    for (auto const& block : draw_epoch(static_cast<int>(variants_.size()), options_.super_blocks,
                                        options_.hidden_control, from)) {
      ledger_.enter(block, time(built, block));
    }
    ledger_.close_epoch();
    if (options_.at_epoch_end) {
      for (auto const& reason : options_.at_epoch_end(now)) { add_distinct(end_.vetoes, reason); }
    }
    bool const last = now.number + 1 == options_.max_epochs;
    bool const decided = look_now() || last;
    if (decided || every) { verify(built, "after timing"); }
    return decided;
  }

  /// In random order: who comes first gets other memory than who comes last.
  subjects build(epoch const& now, coins& from) {
    tell("building");
    std::vector<std::size_t> order(variants_.size() + (options_.hidden_control ? 1 : 0));
    std::iota(order.begin(), order.end(), std::size_t{0});
    from.shuffle(order);
    subjects built(order.size());
    for (auto const i : order) {
      stop_if_cancelled();
      built[i] = guarded(number_of(i), "building", [&] {
        auto made = variants_[static_cast<std::size_t>(number_of(i))].build(now);
        if (!made) { throw std::runtime_error("its build function returned no subject"); }
        return made;
      });
    }
    return built;
  }

  void verify(subjects const& built, char const* when) {
    tell("verifying");
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      for (int arena = 0; arena < 2; ++arena) {
        auto const number = static_cast<int>(i);
        stop_if_cancelled();
        auto const wrong = guarded(number, "verifying", [&] { return built[i]->verify(arena); });
        if (wrong) {
          throw interruption{
              verdict::wrong_answer,
              where(number) + ", " + when + ", arena " + std::to_string(arena) + ": " + *wrong,
              number};
        }
      }
    }
  }

  /// Two launches in every arena of an epoch's new subjects: the first grows pools, loads modules
  /// and uploads graphs, the second runs as all later ones do.
  void settle(subjects const& built) {
    for (std::size_t i = 0; i < built.size(); ++i) {
      for (int arena = 0; arena < 2; ++arena) {
        stop_if_cancelled();
        guarded(number_of(i), "warming up", [&] { built[i]->warm(arena, 2); });
      }
    }
  }

  /// Runs all variants in turn until three successive rounds agree within 0.5 % in every variant's
  /// time, or the cap: clocks of an idle card need tens of milliseconds to ramp up. Sizes cells.
  cell_size warm_up(subjects const& built) {
    tell("warming up");
    cell_size size{0, 1};
    std::vector<std::vector<double>> rounds;
    double spent = 0;
    do {
      std::vector<double> round;
      for (std::size_t i = 0; i < variants_.size(); ++i) {
        double both = 0;
        for (int arena = 0; arena < 2; ++arena) {
          stop_if_cancelled();
          auto const timed = guarded(number_of(i), "warming up",
                                     [&] { return built[i]->time(arena, size.launches); });
          both += longest_clock(timed);
        }
        round.push_back(both / 2);
        spent += both * size.launches;
      }
      auto const [fastest, slowest] = std::minmax_element(round.begin(), round.end());
      size = size_cells(*fastest, *slowest, options_.cell_seconds);
      rounds.push_back(std::move(round));
    } while (!steady(rounds) && spent < options_.warm_up_seconds && rounds.size() < 100);
    return size;
  }

  static bool steady(std::vector<std::vector<double>> const& rounds) {
    if (rounds.size() < 3) { return false; }
    auto const last = rounds.end() - 3;
    for (std::size_t i = 0; i < last[0].size(); ++i) {
      auto const [low, high] = std::minmax({last[0][i], last[1][i], last[2][i]});
      if (!(high - low <= 0.005 * high)) { return false; }
    }
    return true;
  }

  std::vector<cell> time(subjects const& built, super_block const& block) {
    std::vector<cell> cells;
    cells.reserve(block.slots.size());
    for (auto const& slot : block.lead_in) {
      auto const index = static_cast<std::size_t>(slot.variant);
      guarded(number_of(index), "warming up", [&] { built[index]->warm(slot.arena, 1); });
    }
    for (auto const& slot : block.slots) {
      stop_if_cancelled();
      auto const index = static_cast<std::size_t>(slot.variant);
      int const number = number_of(index);
      cells.push_back(guarded(number, "timing", [&] {
        built[index]->warm(slot.arena, size_.wash_out);
        return built[index]->time(slot.arena, size_.launches);
      }));
      double const seconds = cells.back()[options_.primary];
      if (!(seconds > 0) || !std::isfinite(seconds)) {
        throw interruption{verdict::unproven,
                           where(number) + ": the " + std::string{to_string(options_.primary)} +
                               " clock gave " + std::to_string(seconds) +
                               " s per launch; choose another primary clock or longer launches",
                           number};
      }
    }
    return cells;
  }

  /// Judges all contrasts on the primary clock when a look is due; true when all are settled.
  bool look_now() {
    auto const due = std::find_if(looks_.begin(), looks_.end(),
                                  [&](look const& at) { return at.epochs == ledger_.epochs(); });
    if (due == looks_.end()) { return false; }
    end_.last_look = *due;
    for (std::size_t k = 0; k < contrasts_.size(); ++k) {
      auto const& effects = ledger_.effects(options_.primary, k);
      auto const found = judge({effects.data(), effects.size()}, *due, options_.margin);
      if (!settled(found, options_.resolve)) { return false; }
    }
    return true;
  }

  /// Runs a subject's code; what it throws ends the comparison and is told with its place.
  template <class Call>
  std::invoke_result_t<Call> guarded(int number, char const* doing, Call&& call) {
    try {
      return call();
    } catch (std::exception const& cause) {
      throw interruption{verdict::unproven, where(number) + ", " + doing + ": " + cause.what(),
                         number};
    } catch (...) {
      throw interruption{verdict::unproven,
                         where(number) + ", " + doing + ": an exception of unknown type", number};
    }
  }

  void stop_if_cancelled() const {
    if (options_.cancelled && options_.cancelled()) {
      throw interruption{verdict::unproven, "cancelled in epoch " + std::to_string(current_ + 1) +
                                                " of at most " +
                                                std::to_string(options_.max_epochs)};
    }
  }

  void tell(std::string_view what) const {
    if (options_.progress) { options_.progress(current_ + 1, options_.max_epochs, what); }
  }

  int number_of(std::size_t subject) const {
    return static_cast<int>(subject % variants_.size());  // the control's second is the first
  }

  std::string where(int number) const {
    return "variant \"" + variants_[static_cast<std::size_t>(number)].label + "\", epoch " +
           std::to_string(current_ + 1);
  }

  std::vector<variant> const& variants_;
  std::vector<contrast> const& contrasts_;
  options const& options_;
  std::uint64_t seed_;
  std::vector<look> looks_;
  ledger ledger_;
  cell_size size_;
  ending end_;
  int current_ = 0;
};

}  // namespace detail

/// Measures the variants and judges each contrast on every clock that all variants give.
///
/// Builds all variants per epoch (and a second instance of the first, so memory for one more),
/// verifies both arenas of each before anything is timed and again at the end, times them as
/// `schedule.hpp` says, and stops at the first look at which all contrasts are settled on the
/// primary clock. Blocks until then. What a subject throws becomes the reason of UNPROVEN findings;
/// `std::invalid_argument` for variants, contrasts or options that cannot be.
///
/// The cells' order, their arenas and each epoch's seed follow from `options::seed`. `Clock` tells
/// how long the comparison took; subjects have clocks of their own.
template <class Clock = std::chrono::steady_clock>
comparison run(std::vector<variant> const& variants, std::vector<contrast> const& contrasts,
               options const& chosen = {}) {
  require_sound(variants, contrasts, chosen);
  return detail::procedure<Clock>{variants, contrasts, chosen}.run();
}

}  // namespace assay::measure
