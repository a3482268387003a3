// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to sweep.hpp: the definitions of its functions.
#pragma once

#include <assay/cli/sweep.hpp>
#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>
#include <assay/race/space.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::cli {

namespace detail {

/// Puts the choices of a point before the axes of a variant.
inline void add_axes(measure::variant_result& to, point const& at) {
  auto const choices = at.choices();
  to.axes.insert(to.axes.begin(), choices.begin(), choices.end());
}

/// The options of cell `i` of `count`, with `seconds` of the time limit left.
inline measure::options options_of_cell(measure::options const& whole, std::size_t i,
                                        std::size_t count, double seconds) {
  auto own = whole;
  own.alpha = whole.alpha / static_cast<double>(count);
  if (whole.seed != 0) { own.seed = stats::derive_seed(whole.seed, i) | 1U; }
  own.max_seconds = std::max(seconds / static_cast<double>(count - i), 1e-3);
  if (whole.progress) {
    auto const where =
        concat({"cell ", std::to_string(i + 1), " of ", std::to_string(count), ", "});
    own.progress = [&whole, where](int epoch, int of, std::string_view what) {
      whole.progress(epoch, of, where + std::string{what});
    };
  }
  return own;
}

inline measure::comparison joined(std::vector<named_comparison> const& parts,
                                  measure::options const& whole, std::size_t count) {
  auto all = join(parts, whole.alpha);
  all.title = whole.title;
  all.margin = whole.margin;
  all.seed = whole.seed;
  auto const cells = std::to_string(count);
  all.notes.insert(all.notes.begin(),
                   concat({cells, " cells of the sweep share alpha: each has alpha / ", cells,
                           ", so that all verdicts and intervals hold together"}));
  if (parts.size() < count) {
    all.notes.insert(all.notes.begin(),
                     concat({std::to_string(count - parts.size()), " of ", cells,
                             " cells were not measured: the sweep was cancelled"}));
    if (all.failure.empty()) { all.failure = "the sweep was cancelled"; }
  }
  return all;
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

ASSAY_INLINE measure::comparison sweep(std::vector<point> const& points,
                                       measure::options const& whole, comparing_at const& compare) {
  using steady = std::chrono::steady_clock;
  auto const begin = steady::now();
  std::vector<named_comparison> parts;
  std::exception_ptr first_failure;
  bool measured = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i > 0 && whole.cancelled && whole.cancelled()) { break; }
    std::chrono::duration<double> const spent = steady::now() - begin;
    auto const own =
        detail::options_of_cell(whole, i, points.size(), whole.max_seconds - spent.count());
    measure::comparison found;
    try {
      found = compare(points[i], own);
      measured = true;
    } catch (std::exception const& cause) {
      // A value that the first cell refuses is most likely refused by all.
      if (i == 0 && dynamic_cast<std::invalid_argument const*>(&cause) != nullptr) { throw; }
      if (!first_failure) { first_failure = std::current_exception(); }
      found.failure = cause.what();
    }
    if (points.size() == 1 && measured) {
      for (auto& each : found.variants) { detail::add_axes(each, points[i]); }
      return found;
    }
    parts.emplace_back(points[i], std::move(found));
  }
  if (!measured && first_failure) { std::rethrow_exception(first_failure); }  // nothing is lost
  return detail::joined(parts, whole, points.size());
}

}  // namespace assay::cli
