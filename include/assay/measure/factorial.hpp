// SPDX-License-Identifier: Apache-2.0
/// @file
/// Contrasts of common experiments: several variants against one, and two crossed factors.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// Each variant against the first, as ratios of times. All of these contrasts share the error
/// level.
inline std::vector<contrast> against_first(std::vector<std::string> const& labels) {
  if (labels.size() < 2) {
    throw std::invalid_argument("a comparison needs 2 labels or more, not " +
                                std::to_string(labels.size()));
  }
  std::vector<contrast> all;
  for (std::size_t i = 1; i < labels.size(); ++i) {
    contrast one{concat({labels[i], " against ", labels[0]}), contrast::kind::difference,
                 std::vector<double>(labels.size(), 0.0)};
    one.weights[0] = -1;
    one.weights[i] = 1;
    all.push_back(std::move(one));
  }
  return all;
}

/// The one axis on which variants differ, "confounded" for several axes, and "" for none. Axes that
/// were crossed on purpose are listed: "a x b".
inline std::string changed_text(std::vector<std::string> const& axes, bool crossed) {
  if (axes.size() > 1 && !crossed) { return "confounded"; }
  std::string text;
  for (auto const& name : axes) { text += (text.empty() ? "" : " x ") + name; }
  return text;
}

/// One axis of a factorial experiment. The other levels are compared with the first one.
struct factor {
  std::string name;
  std::vector<std::string> levels;
};

/// Two crossed factors. Variants are numbered row-major, so the columns' levels change fastest.
class crossing {
 public:
  crossing(factor rows, factor columns) : rows_(std::move(rows)), columns_(std::move(columns)) {
    for (auto const* each : {&rows_, &columns_}) {
      if (each->levels.size() < 2) {
        throw std::invalid_argument(
            concat({"factor \"", each->name, "\" needs 2 levels or more, not ",
                    std::to_string(each->levels.size())}));
      }
    }
  }

  std::size_t variants() const noexcept { return rows_.levels.size() * columns_.levels.size(); }
  std::size_t at(std::size_t row, std::size_t column) const noexcept {
    return row * columns_.levels.size() + column;
  }

  /// Every level against the first of its factor, at each level of the other factor.
  std::vector<contrast> simple_effects() const {
    std::vector<contrast> all;
    for (std::size_t c = 0; c < columns_.levels.size(); ++c) {
      for (std::size_t r = 1; r < rows_.levels.size(); ++r) {
        all.push_back(make(concat({against(rows_, r), ", with ", columns_.levels[c]}),
                           contrast::kind::difference, {at(r, c)}, {at(0, c)}));
      }
    }
    for (std::size_t r = 0; r < rows_.levels.size(); ++r) {
      for (std::size_t c = 1; c < columns_.levels.size(); ++c) {
        all.push_back(make(concat({against(columns_, c), ", with ", rows_.levels[r]}),
                           contrast::kind::difference, {at(r, c)}, {at(r, 0)}));
      }
    }
    return all;
  }

  /// The ratio of two ratios: (T(r,c) / T(0,c)) / (T(r,0) / T(0,0)). It differs from 1 where the
  /// effect of a row's level depends on the column's level, and the other way round.
  std::vector<contrast> interactions() const {
    std::vector<contrast> all;
    for (std::size_t r = 1; r < rows_.levels.size(); ++r) {
      for (std::size_t c = 1; c < columns_.levels.size(); ++c) {
        all.push_back(
            make(concat({rows_.name, " x ", columns_.name, ": (", against(rows_, r), ") with ",
                         columns_.levels[c], " against with ", columns_.levels[0]}),
                 contrast::kind::interaction, {at(r, c), at(0, 0)}, {at(r, 0), at(0, c)}));
      }
    }
    return all;
  }

  /// Interactions, then simple effects: 1 + 4 for two levels each, which share the error level.
  /// There are no main effects. Where there is an interaction, a mean over opposite simple effects
  /// misleads. Where there is none, the simple effects say the same.
  std::vector<contrast> contrasts() const {
    auto all = interactions();
    for (auto& each : simple_effects()) { all.push_back(std::move(each)); }
    return all;
  }

 private:
  static std::string against(factor const& of, std::size_t level) {
    return concat({of.levels[level], " against ", of.levels[0]});
  }
  contrast make(std::string name, contrast::kind what, std::vector<std::size_t> const& plus,
                std::vector<std::size_t> const& minus) const {
    contrast made{std::move(name), what, std::vector<double>(variants(), 0.0)};
    for (auto const variant : plus) { made.weights[variant] = 1; }
    for (auto const variant : minus) { made.weights[variant] = -1; }
    return made;
  }

  factor rows_, columns_;
};

}  // namespace assay::measure
