// SPDX-License-Identifier: Apache-2.0
/// @file
/// The result of a comparison that has ended, from its effects.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/epoch_effects.hpp>
#include <assay/measure/guards.hpp>
#include <assay/measure/subject.hpp>
#include <assay/measure/validate.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// The end of a comparison, and the declarations of its subjects.
struct run_outcome {
  explicit run_outcome(std::size_t variants)
      : bytes(variants),
        flops(variants),
        results(variants),
        short_cells(variants),
        typical(variants) {}

  /// The last interim analysis, at which the intervals hold.
  std::optional<stats::interim_analysis> last_analysis;
  /// `inconclusive` when the comparison ran its course. Else `wrong_answer` or `unproven`, with the
  /// reason, and with the number of the variant that caused it, -1 for none.
  verdict outcome = verdict::inconclusive;
  std::string reason;
  int variant = -1;
  double launch_seconds = 0;                         ///< of the longest launch in the warm-up
  std::vector<double> bytes, flops;                  ///< by variant, from its subject
  std::vector<std::optional<checks>> results;        ///< by variant, none where it was not built
  std::vector<cell> empty_calls;                     ///< cells of calls that do nothing
  std::vector<std::vector<short_cell>> short_cells;  ///< by variant
  typical_calls typical;
  std::vector<std::string> caveats;  ///< of all subjects
};

namespace detail {

/// Fills in the findings, variants and notes of one comparison.
class result_builder {
 public:
  std::vector<variant> const& variants_;
  std::vector<contrast> const& contrasts_;
  options const& options_;
  epoch_effects const& effects_;
  int launches_;
  run_outcome const& end_;
  comparison& result_;

  void build() {
    result_.title = options_.title;
    result_.changed =
        options_.changed.empty() ? changed_axes(variants_, contrasts_) : options_.changed;
    result_.primary = options_.clock.value_or(clock::wall);
    result_.margin = options_.margin;
    result_.alpha = options_.alpha;
    result_.checks_required = options_.require_checks;
    result_.launches = launches_;
    result_.epochs = effects_.epochs();
    result_.caveats = end_.caveats;
    result_.failure = end_.reason;
    result_.failed_variant = end_.variant;
    for (std::size_t v = 0; v < variants_.size(); ++v) { add_variant(v); }
    add_notes();
    add_findings(result_.primary);
    add_secondary();
  }

 private:
  void add_variant(std::size_t v) {
    auto& measured = result_.variants.emplace_back();
    measured.label = variants_[v].label;
    measured.axes = variants_[v].axes;
    measured.bytes = variants_[v].bytes != 0 ? variants_[v].bytes : end_.bytes[v];
    measured.flops = variants_[v].flops != 0 ? variants_[v].flops : end_.flops[v];
    measured.results = end_.results[v];
    if (end_.outcome == verdict::wrong_answer && end_.variant == static_cast<int>(v)) {
      return;  // a wrong variant has no time
    }
    std::vector<double> hertz;
    for (auto const& each : result_.cells) {
      auto const& of = result_.epoch_records[static_cast<std::size_t>(each.epoch)];
      if (each.variant != static_cast<int>(v) || !of.dropped.empty()) { continue; }
      for (std::size_t k = 0; k < all_clocks.size(); ++k) {
        measured.cells[k].push_back(each.seconds[k]);
      }
      hertz.push_back(each.sm_hertz);
    }
    for (std::size_t k = 0; k < all_clocks.size(); ++k) {
      measured.seconds[k] = stats::summarise(measured.cells[k]);
    }
    measured.sm_hertz = stats::summarise(hertz).median;
    end_.typical.describe(v, measured);
    auto shorter = end_.short_cells[v];
    std::erase_if(shorter, [this](short_cell const& each) {
      return !result_.epoch_records[static_cast<std::size_t>(each.epoch)].dropped.empty();
    });
    measured.costs = cost_line(std::move(shorter), launches_);
  }

  void add_findings(clock on) {
    std::optional<control_check> control;
    if (end_.last_analysis && options_.hidden_control) {
      control = check_control(until_analysis(effects_.control(on)));
      if (on == result_.primary) {
        result_.hidden_control = to_estimate(control->effect, 1 - guard_alpha);
        if (!control->testable) {
          note("the hidden control had too few epochs for a test at 1 %: its interval is a range");
        }
      }
    }
    for (std::size_t k = 0; k < contrasts_.size(); ++k) {
      result_.findings.push_back(make_finding(on, k, control));
    }
  }

  /// The effects up to the last analysis. Intervals hold only there, so later epochs of an
  /// interrupted comparison are not used.
  std::span<double const> until_analysis(std::vector<double> const& effects) const {
    return {effects.data(), static_cast<std::size_t>(end_.last_analysis->epochs)};
  }

  static estimate to_estimate(stats::interval const& effect, double confidence) {
    return {std::exp(effect.estimate), std::exp(effect.low), std::exp(effect.high), confidence};
  }

  finding make_finding(clock on, std::size_t k, std::optional<control_check> const& control) {
    finding found;
    found.contrast_name = contrasts_[k].name;
    found.what = contrasts_[k].what;
    found.weights = contrasts_[k].weights;
    found.on = on;
    found.primary = on == result_.primary;
    found.epoch_effects = effects_.effects(on, k);
    found.effect.confidence = 1 - options_.alpha;
    if (end_.last_analysis) { classify(found, k, control); }
    if (end_.outcome != verdict::inconclusive) {
      bool const blamed =
          end_.variant < 0 || contrasts_[k].weights[static_cast<std::size_t>(end_.variant)] != 0;
      found.outcome = blamed ? end_.outcome : verdict::unproven;
      found.reason = end_.reason;
    }
    return found;
  }

  /// Takes the verdict that the interval allows, then applies the guards.
  void classify(finding& found, std::size_t k, std::optional<control_check> const& control) {
    auto by = judge(effects_, found.on, k, *end_.last_analysis, options_.margin,
                    placement_of(contrasts_[k], variants_, end_.launch_seconds));
    if (control) {
      by = beyond_control(std::move(by), *control, variants_.front().label, options_.margin);
    }
    found.noise = std::expm1(stats::standard_deviation(until_analysis(found.epoch_effects)));
    found.outcome = by.found.outcome;
    found.exceeds_margin = by.found.exceeds_margin;
    found.effect = to_estimate(by.found.effect, 1 - options_.alpha);
    found.is_bound = !by.bound.empty();
    found.reason = by.bound;
    if (found.primary) { describe(found, k, by); }
    add_vetoes(found.on, k, by);
    auto const carried =
        carry_over_objection(by.found, until_analysis(effects_.carry_over(found.on, k)),
                             options_.margin, guard_alpha / static_cast<double>(contrasts_.size()));
    if (carried && (carried->outcome != verdict::inconclusive || !by.vetoes.empty())) {
      by.vetoes.push_back(carried->reason);
    } else if (carried) {
      found.outcome = verdict::inconclusive;
      found.reason = carried->reason;
    } else if (found.outcome == verdict::inconclusive && !by.skewed) {
      int const needed = stats::epochs_to_settle(by.found, end_.last_analysis->epochs,
                                                 options_.margin, options_.run_until_sign);
      found.epochs_needed = needed > 0 ? stats::next_analysis(needed) : 0;
      found.reason = unsteady(found.on, k);
    }
    if (by.vetoes.empty()) { return; }
    found.outcome = verdict::unproven;
    found.is_bound = false;
    found.reason.clear();
    for (auto const& each : by.vetoes) {
      found.reason += (found.reason.empty() ? "" : "; ") + each;
    }
  }

  /// Facts beside a verdict on the primary clock: merged epochs, typical calls, SM clocks.
  void describe(finding& found, std::size_t k, judged_effects const& by) {
    if (by.epochs_in_group > 1) {
      note(concat({"a few epochs hold slow calls, so ", std::to_string(by.epochs_in_group),
                   " neighbouring epochs have one mean in ", found.contrast_name}));
    }
    if (found.what != contrast::kind::difference) { return; }
    found.typical_ratio =
        end_.typical.differing_ratio(contrasts_[k], by.found.effect.estimate, options_.margin);
    std::vector<double> hertz;
    for (auto const& each : result_.variants) { hertz.push_back(each.sm_hertz); }
    auto const split =
        clock_split(found.contrast_name, by.found.effect, log_ratio(contrasts_[k], hertz));
    if (split) { note(*split); }
  }

  /// Names the variant of the contrast whose time differs most from epoch to epoch.
  std::string unsteady(clock on, std::size_t k) const {
    auto const v = effects_.noisiest(on, k);
    return concat({"\"", variants_[v].label, "\" differs by ",
                   share_text(std::expm1(effects_.deviation(on, v))), " from epoch to epoch"});
  }

  void add_vetoes(clock on, std::size_t k, judged_effects& of) const {
    auto const veto = [&](std::optional<std::string> const& why) {
      if (why) { of.vetoes.push_back(*why); }
    };
    std::vector<std::size_t> compared;
    double shortest = std::numeric_limits<double>::infinity();
    for (std::size_t v = 0; v < variants_.size(); ++v) {
      if (contrasts_[k].weights[v] == 0) { continue; }
      compared.push_back(v);
      shortest = std::min(shortest, result_.variants[v].on(on).median);
    }
    // With a cold cache each launch has a pair of events of its own, and the error of their mean
    // falls with the root of their number.
    double const launches = options_.cold_cache ? std::sqrt(launches_) : launches_;
    auto const tick = options_.tick_seconds[static_cast<std::size_t>(on)];
    veto(resolution_veto(of.found, shortest, tick, launches));
    // Enqueueing takes as long for any kernel, so events tell whether a kernel has work.
    bool const on_host = !(empty_seconds(clock::gpu) > 0);
    auto const by = on_host ? on : clock::gpu;
    for (auto const v : compared) {
      auto const& each = result_.variants[v];
      veto(empty_call_veto(each.label, each.on(by).median, empty_seconds(by), on_host));
    }
    veto(call_veto(of.found, shortest, on_host ? empty_seconds(on) : 0));
  }

  /// The seconds of a call that does nothing; NaN where none was timed.
  double empty_seconds(clock on) const {
    std::vector<double> all;
    for (auto const& each : end_.empty_calls) { all.push_back(each[on]); }
    return stats::summarise(all).median;
  }

  void add_secondary() {
    std::string names;
    for (auto const on : all_clocks) {
      if (on == result_.primary || !effects_.seen(on)) { continue; }
      std::string const name{to_string(on)};
      if (!effects_.complete(on)) {
        note(concat({"the ", name, " clock is left out: not every cell gave it"}));
        continue;
      }
      names += (names.empty() ? "" : " and ") + name;
      add_findings(on);
    }
    if (names.empty()) { return; }
    note(concat(
        {"findings on other clocks (", names,
         ") are secondary: each clock has a level of its own, and does not decide when to stop"}));
  }

  void add_notes() {
    int blocks = 0;
    int dropped = 0;
    for (auto const& each : result_.epoch_records) {
      blocks += each.blocks;
      bool const repeated = &each != &result_.epoch_records.back();
      dropped += repeated && !each.dropped.empty() ? 1 : 0;
    }
    note(concat({"cells of 2 to 4 untimed and ", std::to_string(launches_),
                 launches_ == 1 ? " timed launch; " : " timed launches; ", std::to_string(blocks),
                 " blocks in ", std::to_string(result_.epoch_records.size()), " epochs"}));
    if (launches_ == 1) {
      note(
          "launches of more than 20 ms: 4 to 32 of each variant in an epoch instead of 16 or more, "
          "so calls that are slow in few cases are seen later");
    }
    if (dropped > 0) {
      note(concat({std::to_string(dropped),
                   dropped == 1 ? " disturbed epoch was" : " disturbed epochs were",
                   " dropped and repeated"}));
    }
    if (contrasts_.size() > 1) {
      auto const count = std::to_string(contrasts_.size());
      note(concat({count, " contrasts share alpha: each is tested at alpha / ", count}));
    }
    if (!options_.hidden_control) { note("no hidden control was run"); }
    add_autocorrelation();
    bool renewed = true;
    for (auto const& each : variants_) { renewed = renewed && each.renews_code; }
    if (!renewed) {
      note(
          "not covered: what stays with a variant in every epoch, such as its code's addresses in "
          "this binary");
    }
  }

  /// False alarms keep their level under any dependence between epochs, because labels are drawn
  /// anew in each epoch. Intervals about an effect other than 0 assume independent epochs.
  void add_autocorrelation() {
    auto const& effects = effects_.effects(result_.primary, 0);
    result_.autocorrelation = stats::lag_one_autocorrelation(effects);
    if (!(result_.autocorrelation > 2 / std::sqrt(static_cast<double>(effects.size())))) { return; }
    note(concat({"the effects of successive epochs are correlated (",
                 percent_text(result_.autocorrelation),
                 " at lag 1): false alarms keep their rate, but intervals may be too narrow"}));
  }

  void note(std::string text) { result_.notes.push_back(std::move(text)); }
};

}  // namespace detail

/// Classifies the effects at the last interim analysis, applies the guards, and summarises the
/// variants. Completes `into`, which has the records of cells and epochs.
inline void conclude(std::vector<variant> const& variants, std::vector<contrast> const& contrasts,
                     options const& chosen, epoch_effects const& effects, int launches,
                     run_outcome const& end, comparison& into) {
  detail::result_builder{variants, contrasts, chosen, effects, launches, end, into}.build();
}

}  // namespace assay::measure
