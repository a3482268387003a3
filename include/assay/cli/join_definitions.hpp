// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to join.hpp: the definitions of its functions.
#pragma once

#include <assay/cli/join.hpp>
#include <assay/core/distinct.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/race/space.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace assay::cli {

namespace detail {

/// Puts the choices of a point before the axes of a variant.
inline void add_axes(measure::variant_result& to, point const& at) {
  auto const choices = at.choices();
  to.axes.insert(to.axes.begin(), choices.begin(), choices.end());
}

}  // namespace detail

ASSAY_INLINE measure::comparison join(std::vector<named_comparison> const& parts, double alpha) {
  measure::comparison all;
  // What the parts share is in the first one that was measured.
  auto const model = std::ranges::find_if(
      parts, [](named_comparison const& part) { return !part.second.variants.empty(); });
  if (model != parts.end()) { all = model->second; }
  all.failure.clear();
  all.alpha = alpha;
  all.seconds = 0;
  all.hidden_control.reset();
  all.variants.clear();
  all.findings.clear();
  all.reasons.clear();
  all.traced.clear();
  all.cells.clear();
  all.epoch_records.clear();
  all.analyses.clear();
  std::size_t count = 0;
  for (auto const& part : parts) { count += part.second.variants.size(); }
  for (auto const& [at, found] : parts) {
    auto const prefix = at.label() + ": ";
    auto const first = all.variants.size();
    for (auto variant : found.variants) {
      variant.label.insert(0, prefix);
      detail::add_axes(variant, at);
      all.variants.push_back(std::move(variant));
    }
    for (auto finding : found.findings) {
      finding.contrast_name.insert(0, prefix);
      finding.effect.confidence = 1 - alpha;
      finding.weights.insert(finding.weights.begin(), first, 0.0);
      finding.weights.resize(count, 0.0);
      all.findings.push_back(std::move(finding));
    }
    for (auto const& why : found.reasons) {
      all.reasons.push_back({prefix + why.question, why.lines});
    }
    for (auto traced : found.traced) {
      for (auto* side : {&traced.control, &traced.variant}) {
        side->variant += static_cast<int>(first);
      }
      all.traced.push_back(std::move(traced));
    }
    for (auto const& note : found.notes) { add_distinct(all.notes, note); }
    for (auto const& note : found.caveats) { add_distinct(all.caveats, note); }
    for (auto const& why : found.where.throttle_reasons) {
      add_distinct(all.where.throttle_reasons, why);
    }
    if (all.failure.empty() && !found.failure.empty()) { all.failure = prefix + found.failure; }
    all.epochs = std::max(all.epochs, found.epochs);
    all.seconds += found.seconds;
  }
  return all;
}

}  // namespace assay::cli
