// SPDX-License-Identifier: Apache-2.0
/// @file
/// From the ledger of a comparison that has ended to the result that reports print.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/measure/cell_size.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/guards.hpp>
#include <assay/measure/ledger.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/measure/summary.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// How a comparison ended.
struct ending {
  std::optional<look> last_look;    ///< the last look taken, whose intervals hold
  std::vector<std::string> vetoes;  ///< from the hook at epoch ends
  /// `wrong_answer` or `unproven` when it was interrupted, with the reason and, where one variant
  /// is to blame, its number; `inconclusive` when it ran its course.
  verdict outcome = verdict::inconclusive;
  std::string reason;
  int variant = -1;
};

/// The one axis in which the variants differ, "confounded" when several do, and "" when none does.
/// Crossed on purpose, which a main effect or an interaction shows, they are listed: "a x b".
inline std::string changed_axes(std::vector<variant> const& variants,
                                std::vector<contrast> const& contrasts) {
  std::vector<std::string> names;
  for (auto const& each : variants) {
    for (auto const& [axis, choice] : each.axes) { add_distinct(names, axis); }
  }
  auto const choice_of = [](variant const& of, std::string const& axis) {
    for (auto const& [name, choice] : of.axes) {
      if (name == axis) { return choice; }
    }
    return std::string{};
  };
  std::vector<std::string> changed;
  for (auto const& axis : names) {
    for (auto const& each : variants) {
      if (choice_of(each, axis) != choice_of(variants.front(), axis)) {
        add_distinct(changed, axis);
      }
    }
  }
  bool crossed = false;
  for (auto const& each : contrasts) {
    crossed = crossed || each.what != contrast::kind::difference;
  }
  if (changed.size() > 1 && !crossed) { return "confounded"; }
  std::string text;
  for (auto const& name : changed) { text += (text.empty() ? "" : " x ") + name; }
  return text;
}

namespace detail {

/// Builds the findings and notes of one comparison.
template <class Ledger>
class reporter {
 public:
  reporter(std::vector<variant> const& variants, std::vector<contrast> const& contrasts,
           options const& chosen, Ledger const& entries, cell_size size, ending const& end)
      : variants_(variants),
        contrasts_(contrasts),
        options_(chosen),
        ledger_(entries),
        size_(size),
        end_(end) {}

  comparison make() {
    result_.title = options_.title;
    result_.changed =
        options_.changed.empty() ? changed_axes(variants_, contrasts_) : options_.changed;
    result_.primary = options_.primary;
    result_.margin = options_.margin;
    result_.alpha = options_.alpha;
    result_.epochs = ledger_.epochs();
    result_.where.throttle_reasons = end_.vetoes;
    result_.failure = end_.reason;
    add_arms();
    add_notes();
    add_findings(options_.primary);
    for (auto const on : all_clocks) {
      if (on != options_.primary && ledger_.seen(on)) { add_secondary(on); }
    }
    return std::move(result_);
  }

 private:
  void add_arms() {
    for (std::size_t v = 0; v < variants_.size(); ++v) {
      arm measured;
      measured.label = variants_[v].label;
      measured.axes = variants_[v].axes;
      measured.bytes = variants_[v].bytes;
      measured.flops = variants_[v].flops;
      measured.cells = ledger_.seconds(v);
      for (std::size_t k = 0; k < measured.cells.size(); ++k) {
        measured.seconds[k] = summarise(measured.cells[k]);
      }
      measured.sm_hertz = summarise(ledger_.sm_hertz(v)).median;
      result_.arms.push_back(std::move(measured));
    }
  }

  void add_findings(clock on) {
    std::optional<control_check> control;
    if (end_.last_look && !ledger_.control(on).empty()) {
      control = check_control(until_look(ledger_.control(on)));
      if (!control->testable && on == options_.primary) {
        note(
            "the hidden control had too few epochs for a test at 1 %; its noise floor is a "
            "range");
      }
    }
    for (std::size_t k = 0; k < contrasts_.size(); ++k) {
      result_.findings.push_back(make_finding(on, k, control));
    }
  }

  /// Intervals hold at looks only: epochs after the last one (of an interrupted run) are not used.
  std::span<double const> until_look(std::vector<double> const& effects) const {
    return {effects.data(), static_cast<std::size_t>(end_.last_look->epochs)};
  }

  finding make_finding(clock on, std::size_t k, std::optional<control_check> const& control) {
    finding found;
    found.contrast_name = contrasts_[k].name;
    found.what = contrasts_[k].what;
    found.weights = contrasts_[k].weights;
    found.on = on;
    found.primary = on == options_.primary;
    found.epoch_effects = ledger_.effects(on, k);
    found.effect.confidence = 1 - options_.alpha;
    found.noise_floor = control ? control->noise_floor() : 0;
    std::vector<std::string> reasons;
    if (end_.last_look) {
      auto const judged = judge(until_look(found.epoch_effects), *end_.last_look, options_.margin);
      found.outcome = judged.outcome;
      found.material = judged.material;
      found.effect = to_estimate(judged.effect, 1 - options_.alpha);
      if (found.outcome == verdict::inconclusive) {
        found.epochs_needed =
            epochs_to_settle(judged, end_.last_look->epochs, options_.margin, options_.resolve);
      }
      reasons = vetoes(on, k, judged, control);
    }
    if (end_.outcome != verdict::inconclusive) {
      bool const blamed =
          end_.variant < 0 || contrasts_[k].weights[static_cast<std::size_t>(end_.variant)] != 0;
      found.outcome = blamed ? end_.outcome : verdict::unproven;
      found.reason = end_.reason;
    } else if (!reasons.empty()) {
      found.outcome = verdict::unproven;
      for (auto const& each : reasons) {
        found.reason += (found.reason.empty() ? "" : "; ") + each;
      }
    }
    return found;
  }

  std::vector<std::string> vetoes(clock on, std::size_t k, judgement const& judged,
                                  std::optional<control_check> const& control) {
    auto reasons = end_.vetoes;
    if (control && control->differs) {
      reasons.push_back("hidden control: \"" + variants_.front().label +
                        "\" differs from its own second instance by " +
                        percent_text(std::expm1(control->effect.estimate)));
    }
    auto const carried =
        carry_over_veto(judged, until_look(ledger_.carry_over(on, k)), options_.margin);
    if (carried) { reasons.push_back(*carried); }
    auto const coarse =
        resolution_veto(judged, launch_seconds(on, k),
                        options_.tick_seconds[static_cast<std::size_t>(on)], size_.launches);
    if (coarse) { reasons.push_back(*coarse); }
    if (on == options_.primary && contrasts_[k].what == contrast::kind::difference) {
      auto const split = clock_split(contrasts_[k].name, judged.effect, log_clock_ratio(k));
      if (split) { note(*split); }
    }
    return reasons;
  }

  /// The shortest launch among the variants of a contrast.
  double launch_seconds(clock on, std::size_t k) const {
    double shortest = std::numeric_limits<double>::infinity();
    for (std::size_t v = 0; v < variants_.size(); ++v) {
      if (contrasts_[k].weights[v] != 0) {
        shortest = std::min(shortest, result_.arms[v].on(on).median);
      }
    }
    return shortest;
  }

  double log_clock_ratio(std::size_t k) const {
    double sum = 0;
    for (std::size_t v = 0; v < variants_.size(); ++v) {
      double const weight = contrasts_[k].weights[v];
      if (weight != 0) { sum += weight * std::log(result_.arms[v].sm_hertz); }
    }
    return sum;
  }

  void add_secondary(clock on) {
    std::string const name{to_string(on)};
    if (!ledger_.complete(on)) {
      note("the " + name + " clock is left out: not every cell gave it");
      return;
    }
    note("findings on the " + name +
         " clock are secondary: at a level of their own, uncorrected "
         "for the number of clocks, and without a say in when to stop");
    add_findings(on);
  }

  void add_notes() {
    note("cells of " + std::to_string(size_.wash_out) + " wash-out and " +
         std::to_string(size_.launches) + " timed launches; " +
         std::to_string(options_.super_blocks) + " super-blocks per epoch");
    if (contrasts_.size() > 1) {
      auto const count = std::to_string(contrasts_.size());
      note(count + " contrasts share alpha: each is tested at alpha / " + count);
    }
    if (!options_.hidden_control) { note("no hidden control was run: the noise floor is unknown"); }
    note(
        "not covered: what stays with a variant in every epoch, such as its code's addresses in "
        "this binary");
  }

  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  std::vector<variant> const& variants_;
  std::vector<contrast> const& contrasts_;
  options const& options_;
  Ledger const& ledger_;
  cell_size size_;
  ending const& end_;
  comparison result_;
};

}  // namespace detail

/// Judges what the ledger (`ledger.hpp`, or one that answers alike) holds as of the last look,
/// applies the guards, and sums up the arms.
template <class Ledger>
comparison conclude(std::vector<variant> const& variants, std::vector<contrast> const& contrasts,
                    options const& chosen, Ledger const& entries, cell_size size,
                    ending const& end) {
  return detail::reporter<Ledger>{variants, contrasts, chosen, entries, size, end}.make();
}

}  // namespace assay::measure
