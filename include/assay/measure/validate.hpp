// SPDX-License-Identifier: Apache-2.0
/// @file
/// The preconditions of a comparison.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/stats/group_sequential.hpp>
#include <assay/stats/number_text.hpp>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

namespace detail {

inline void require(bool holds, std::string const& otherwise) {
  if (!holds) { throw std::invalid_argument(otherwise); }
}

inline void require_contrast(contrast const& asked, std::size_t variants) {
  require(asked.weights.size() == variants,
          concat({"contrast \"", asked.name, "\" has ", std::to_string(asked.weights.size()),
                  " weights for ", std::to_string(variants), " variants"}));
  double sum = 0;
  double size = 0;
  for (double const weight : asked.weights) {
    sum += weight;
    size += std::abs(weight);
  }
  require(std::isfinite(size) && size > 0,
          concat({"contrast \"", asked.name, "\" needs finite weights, not all zero"}));
  // 1e-12: the rounding of sums of weights such as 1/3.
  require(std::abs(sum) <= 1e-12 * size,
          concat({"the weights of contrast \"", asked.name, "\" must sum to 0, not ",
                  stats::number_text(sum)}));
}

inline bool has_choice(variant const& of, std::pair<std::string, std::string> const& choice) {
  for (auto const& each : of.axes) {
    if (each == choice) { return true; }
  }
  return false;
}

}  // namespace detail

/// Throws `std::invalid_argument` with the value and the allowed range, unless this can be run.
inline void validate(std::vector<variant> const& variants, std::vector<contrast> const& contrasts,
                     options const& chosen) {
  using detail::require;
  require(variants.size() >= 2,
          "a comparison needs 2 variants or more, not " + std::to_string(variants.size()));
  std::vector<std::string> labels;
  for (auto const& each : variants) {
    require(add_distinct(labels, each.label),
            concat({"two variants are labelled \"", each.label, "\""}));
    require(static_cast<bool>(each.build),
            concat({"variant \"", each.label, "\" has no build function"}));
  }
  require(!contrasts.empty(), "a comparison needs 1 contrast or more, not 0");
  for (auto const& each : contrasts) { detail::require_contrast(each, variants.size()); }
  auto const positive = [](char const* what, double value) {
    require(value > 0 && std::isfinite(value),
            concat({what, " is positive, not ", stats::number_text(value)}));
  };
  (void)stats::alpha_schedule(chosen.max_epochs, chosen.alpha, contrasts.size());
  positive("margin", chosen.margin);
  require(chosen.margin < 1, "margin is a share below 1, such as 0.02 for 2 %, not " +
                                 stats::number_text(chosen.margin));
  positive("cell_seconds", chosen.cell_seconds);
  positive("max_seconds", chosen.max_seconds);
  int const most = chosen.most_launches.value_or(200);
  require(most >= 5, "most_launches is 5 or more, not " + std::to_string(most));
  require(chosen.warm_up_seconds >= 0,
          "warm_up_seconds is 0 or more, not " + stats::number_text(chosen.warm_up_seconds));
  for (double const tick : chosen.tick_seconds) {
    require(tick >= 0, "a clock's tick is 0 s or more, not " + stats::number_text(tick));
  }
}

/// The changed axes of variants by the texts of their choices. A main effect or an interaction
/// among the contrasts shows that axes were crossed.
inline std::string changed_axes(std::vector<variant> const& variants,
                                std::vector<contrast> const& contrasts) {
  std::vector<std::string> changed;
  for (auto const& each : variants) {
    for (auto const& choice : each.axes) {
      for (auto const& other : variants) {
        if (!detail::has_choice(other, choice)) { add_distinct(changed, choice.first); }
      }
    }
  }
  bool crossed = false;
  for (auto const& each : contrasts) {
    crossed = crossed || each.what != contrast::kind::difference;
  }
  return changed_text(changed, crossed);
}

}  // namespace assay::measure
