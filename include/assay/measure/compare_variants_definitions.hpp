// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to compare_variants.hpp: its definition, which brings the whole engine. A variant with
/// a wrong result does not keep the others from being compared.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/compare_variants.hpp>
#include <assay/measure/procedure.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {
namespace detail {

/// True if this is the ratio of two variants: "one against another".
inline bool is_plain_difference(contrast const& asked) {
  auto const count = [&](double weight) {
    return std::count(asked.weights.begin(), asked.weights.end(), weight);
  };
  return asked.what == contrast::kind::difference && count(1) == 1 && count(-1) == 1 &&
         count(0) + 2 == static_cast<std::ptrdiff_t>(asked.weights.size());
}

/// The contrasts without variant `wrong`. What was held against it is held against the first
/// variant that is left.
inline std::vector<contrast> contrasts_without(std::size_t wrong,
                                               std::vector<variant> const& variants,
                                               std::vector<contrast> const& contrasts) {
  auto const stand_in = wrong == 0 ? std::size_t{1} : std::size_t{0};
  std::vector<contrast> left;
  for (auto each : contrasts) {
    bool const was_control = each.weights[wrong] == -1;
    if (each.weights[wrong] == 1 || (was_control && each.weights[stand_in] != 0)) { continue; }
    if (was_control) {
      each.weights[stand_in] = -1;
      auto const one = std::find(each.weights.begin(), each.weights.end(), 1.0);
      each.name = concat({variants[static_cast<std::size_t>(one - each.weights.begin())].label,
                          " against ", variants[stand_in].label});
    }
    each.weights.erase(each.weights.begin() + static_cast<std::ptrdiff_t>(wrong));
    bool known = false;
    for (auto const& other : left) {
      known = known || (was_control && other.weights == each.weights);
    }
    if (!known) { left.push_back(std::move(each)); }
  }
  return left;
}

/// Adds the result of all variants but `wrong` to the one that `wrong` ended.
class merged_result {
 public:
  merged_result(comparison ended, std::size_t wrong, comparison rest)
      : ended_(std::move(ended)), wrong_(wrong), rest_(std::move(rest)) {}

  comparison merge() {
    auto note =
        concat({"\"", ended_.variants[wrong_].label, "\" is left out, since its result is wrong"});
    if (auto const control = stand_in(); !control.empty()) {
      note += concat({"; what was held against it is held against \"", control, "\""});
    }
    for (auto& each : rest_.findings) {
      each.weights.insert(each.weights.begin() + static_cast<std::ptrdiff_t>(wrong_), 0.0);
    }
    merge_findings();
    for (auto& each : rest_.cells) {
      each.variant += each.variant >= static_cast<int>(wrong_) ? 1 : 0;
      each.start_seconds += ended_.seconds;
    }
    for (auto& each : rest_.epoch_records) { each.start_seconds += ended_.seconds; }
    std::vector<variant_result> all;
    for (std::size_t v = 0; v < ended_.variants.size(); ++v) {
      auto& from = v == wrong_ ? ended_.variants[v] : rest_.variants[v < wrong_ ? v : v - 1];
      all.push_back(std::move(from));
    }
    rest_.variants = std::move(all);
    rest_.changed = ended_.changed;
    rest_.seconds += ended_.seconds;
    rest_.notes.insert(rest_.notes.begin(), std::move(note));
    rest_.failed_variant += rest_.failed_variant >= static_cast<int>(wrong_) ? 1 : 0;
    return std::move(rest_);
  }

 private:
  /// The contrasts that were asked for come first, in their order, and then those with a stand-in.
  /// The outcomes of analyses are in the order of the primary findings.
  void merge_findings() {
    std::vector<finding> merged;
    std::vector<std::size_t> from;  // the number among the primary findings of the rest
    std::vector<finding> left = std::move(rest_.findings);
    std::vector<std::size_t> numbers;
    for (auto const& each : left) { numbers.push_back(each.primary ? numbers.size() : nowhere); }
    // What was taken has lost its weights.
    auto const take = [&](std::size_t k) {
      if (left[k].primary) { from.push_back(numbers[k]); }
      merged.push_back(std::move(left[k]));
    };
    for (auto& each : ended_.findings) {
      if (!each.primary) { continue; }
      if (each.weights[wrong_] != 0) {
        merged.push_back(std::move(each));
        from.push_back(nowhere);
        continue;
      }
      for (std::size_t k = 0; k < left.size(); ++k) {
        if (!left[k].primary || left[k].weights != each.weights) { continue; }
        take(k);
        break;
      }
    }
    for (std::size_t k = 0; k < left.size(); ++k) {
      if (!left[k].weights.empty()) { take(k); }
    }
    rest_.findings = std::move(merged);
    for (auto& each : rest_.analyses) {
      std::vector<verdict> outcomes;
      for (auto const k : from) {
        outcomes.push_back(k < each.outcomes.size() ? each.outcomes[k] : verdict::wrong_answer);
      }
      each.outcomes = std::move(outcomes);
    }
  }

  /// What the contrasts of the wrong variant are held against instead; empty where nothing is.
  std::string stand_in() const {
    for (auto const& each : rest_.findings) {
      bool asked = false;
      for (auto const& other : ended_.findings) {
        asked = asked || other.contrast_name == each.contrast_name;
      }
      if (asked || !each.primary || each.outcome == verdict::wrong_answer) { continue; }
      auto const control = std::find(each.weights.begin(), each.weights.end(), -1.0);
      return rest_.variants[static_cast<std::size_t>(control - each.weights.begin())].label;
    }
    return {};
  }

  static constexpr auto nowhere = static_cast<std::size_t>(-1);
  comparison ended_;
  std::size_t wrong_;
  comparison rest_;
};

}  // namespace detail

/// As `run`, and a variant with a wrong result does not end the comparison of the others.
///
/// Where all contrasts are ratios of two variants and two or more variants are left, these run
/// again without the wrong one, in the time that is left. Its contrasts are WRONG ANSWER with the
/// reason. Variants that were held against it are held against the first one that is left, and a
/// note says so. Such a comparison has no `failure`. A control with a `placement` has no second
/// instance.
template <class Clock = std::chrono::steady_clock>
comparison run_right(std::vector<variant> const& variants, std::vector<contrast> const& contrasts,
                     options const& chosen = {}) {
  // The second instance of a control that keeps its buffers would touch them twice as often.
  auto asked = chosen;
  asked.hidden_control =
      chosen.hidden_control && !variants.empty() && variants.front().placement == 0;
  auto found = run<Clock>(variants, contrasts, asked);
  bool is_wrong = false;
  for (auto const& each : found.findings) {
    is_wrong = is_wrong || each.outcome == verdict::wrong_answer;
  }
  bool plain = variants.size() >= 3;
  for (auto const& each : contrasts) { plain = plain && detail::is_plain_difference(each); }
  if (!is_wrong || found.failed_variant < 0 || !plain) { return found; }
  auto const wrong = static_cast<std::size_t>(found.failed_variant);
  auto const left = detail::contrasts_without(wrong, variants, contrasts);
  if (left.empty()) { return found; }
  std::vector<variant> right;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    if (v != wrong) { right.push_back(variants[v]); }
  }
  auto again = chosen;
  again.seed = found.seed;
  again.max_seconds = std::max(1e-3, chosen.max_seconds - found.seconds);
  auto rest = run_right<Clock>(right, left, again);
  return detail::merged_result{std::move(found), wrong, std::move(rest)}.merge();
}

ASSAY_INLINE comparison compare_variants(std::vector<variant> const& variants,
                                         std::vector<contrast> const& contrasts,
                                         options const& chosen) {
  return run_right(variants, contrasts, chosen);
}

}  // namespace assay::measure
