// SPDX-License-Identifier: Apache-2.0
/// @file
/// Contrasts of common experiments: several variants against one, and two crossed factors.
#pragma once

#include <assay/measure/comparison.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// Each variant against the first, as ratios of times. K of them share the error level.
inline std::vector<contrast> against_first(std::vector<std::string> const& labels) {
  if (labels.size() < 2) {
    throw std::invalid_argument("a comparison needs 2 labels or more, not " +
                                std::to_string(labels.size()));
  }
  std::vector<contrast> all;
  for (std::size_t i = 1; i < labels.size(); ++i) {
    contrast one{labels[i] + " against " + labels[0], contrast::kind::difference,
                 std::vector<double>(labels.size(), 0.0)};
    one.weights[0] = -1;
    one.weights[i] = 1;
    all.push_back(std::move(one));
  }
  return all;
}

/// One axis of a factorial experiment; its first level is the one that others are held against.
struct factor {
  std::string name;
  std::vector<std::string> levels;
};

/// Two crossed factors. Variants are numbered row-major: the one at (row, column) is number
/// row * columns.levels.size() + column, so that the columns' levels change fastest.
class crossing {
 public:
  crossing(factor rows, factor columns) : rows_(std::move(rows)), columns_(std::move(columns)) {
    for (auto const* each : {&rows_, &columns_}) {
      if (each->levels.size() < 2) {
        throw std::invalid_argument("factor \"" + each->name + "\" needs 2 levels or more, not " +
                                    std::to_string(each->levels.size()));
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
        all.push_back(
            blank(against(rows_, r) + ", with " + columns_.levels[c], contrast::kind::difference));
        add(all.back(), r, c, 1);
        add(all.back(), 0, c, -1);
      }
    }
    for (std::size_t r = 0; r < rows_.levels.size(); ++r) {
      for (std::size_t c = 1; c < columns_.levels.size(); ++c) {
        all.push_back(
            blank(against(columns_, c) + ", with " + rows_.levels[r], contrast::kind::difference));
        add(all.back(), r, c, 1);
        add(all.back(), r, 0, -1);
      }
    }
    return all;
  }

  /// Every level against the first of its factor, as the mean log ratio over the other's levels.
  std::vector<contrast> main_effects() const {
    std::vector<contrast> all;
    for (std::size_t r = 1; r < rows_.levels.size(); ++r) {
      all.push_back(blank(against(rows_, r) + ", averaged over " + columns_.name,
                          contrast::kind::main_effect));
      for (std::size_t c = 0; c < columns_.levels.size(); ++c) {
        double const share = 1.0 / static_cast<double>(columns_.levels.size());
        add(all.back(), r, c, share);
        add(all.back(), 0, c, -share);
      }
    }
    for (std::size_t c = 1; c < columns_.levels.size(); ++c) {
      all.push_back(blank(against(columns_, c) + ", averaged over " + rows_.name,
                          contrast::kind::main_effect));
      for (std::size_t r = 0; r < rows_.levels.size(); ++r) {
        double const share = 1.0 / static_cast<double>(rows_.levels.size());
        add(all.back(), r, c, share);
        add(all.back(), r, 0, -share);
      }
    }
    return all;
  }

  /// Does what a row level changes depend on the column level? The ratio of two ratios:
  /// (T(r,c) / T(0,c)) / (T(r,0) / T(0,0)), which is the same read along the other factor.
  std::vector<contrast> interactions() const {
    std::vector<contrast> all;
    for (std::size_t r = 1; r < rows_.levels.size(); ++r) {
      for (std::size_t c = 1; c < columns_.levels.size(); ++c) {
        all.push_back(blank(rows_.name + " x " + columns_.name + ": (" + against(rows_, r) +
                                ") with " + columns_.levels[c] + " against with " +
                                columns_.levels[0],
                            contrast::kind::interaction));
        add(all.back(), r, c, 1);
        add(all.back(), r, 0, -1);
        add(all.back(), 0, c, -1);
        add(all.back(), 0, 0, 1);
      }
    }
    return all;
  }

  /// Interactions, then simple effects: 1 + 4 for two levels each, which share the error level. No
  /// main effects: where there is an interaction, a mean over opposite simple effects misleads, and
  /// where there is none, the simple effects say the same.
  std::vector<contrast> contrasts() const {
    auto all = interactions();
    for (auto& each : simple_effects()) { all.push_back(std::move(each)); }
    return all;
  }

 private:
  static std::string against(factor const& of, std::size_t level) {
    return of.levels[level] + " against " + of.levels[0];
  }
  contrast blank(std::string name, contrast::kind what) const {
    return {std::move(name), what, std::vector<double>(variants(), 0.0)};
  }
  void add(contrast& to, std::size_t row, std::size_t column, double weight) const {
    to.weights[at(row, column)] += weight;
  }

  factor rows_, columns_;
};

}  // namespace assay::measure
