// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cells as they come in, and the effects that epochs make of them.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/measure/schedule.hpp>
#include <assay/measure/subject.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace assay::measure {

/// Books every clock of every cell, and closes an epoch with one log ratio per contrast and clock.
///
/// A clock that some cell did not give (NaN, or not above zero) has NaN effects for that epoch.
template <class Cell>
class basic_ledger {
 public:
  basic_ledger(std::size_t variants, std::vector<contrast> contrasts)
      : contrasts_(std::move(contrasts)),
        after_others_(variants),
        seconds_(variants),
        sm_hertz_(variants) {
    for (auto& book : books_) {
      book.effects.resize(contrasts_.size());
      book.carry_over.resize(contrasts_.size());
      book.sums.resize(variants);
      book.turns.resize(variants);
    }
  }

  /// Enters a super-block; `cells[i]` belongs to `block.slots[i]`.
  void enter(super_block const& block, std::vector<Cell> const& cells) {
    for (std::size_t k = 0; k < books_.size(); ++k) {
      block.control ? enter_control(books_[k], block, cells, k)
                    : enter_cells(books_[k], block, cells, k);
    }
    if (!block.lead_in.empty()) { last_ = block.lead_in.back().variant; }
    if (block.control) { return; }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      auto const variant = static_cast<std::size_t>(block.slots[i].variant);
      after_others_[variant].add(last_ == block.slots[i].variant ? 0 : 1);
      last_ = block.slots[i].variant;
      for (std::size_t k = 0; k < books_.size(); ++k) {
        seconds_[variant][k].push_back(cells[i].seconds[k]);
      }
      sm_hertz_[variant].push_back(cells[i].sm_hertz);
    }
  }

  void close_epoch() {
    for (auto& book : books_) { close(book); }
    std::fill(after_others_.begin(), after_others_.end(), tally{});
    last_ = -1;
    ++epochs_;
  }

  int epochs() const noexcept { return epochs_; }

  /// One log ratio per closed epoch.
  std::vector<double> const& effects(clock on, std::size_t contrast) const {
    return at(on).effects[contrast];
  }

  /// Log ratios of the control's second instance to its first; empty without control super-blocks.
  std::vector<double> const& control(clock on) const { return at(on).control; }

  /// What the cells before may have added to the contrast: each variant's difference between the
  /// first and the second cell at its turns, times the share of its cells that followed another
  /// variant's, weighted as the contrast is. A variant that had no turn in an epoch is taken to be
  /// as the others.
  std::vector<double> const& carry_over(clock on, std::size_t contrast) const {
    return at(on).carry_over[contrast];
  }

  /// Whether every cell gave this clock, those of control super-blocks too.
  bool complete(clock on) const noexcept { return at(on).complete && epochs_ > 0; }
  /// Whether some cell gave this clock.
  bool seen(clock on) const noexcept { return at(on).seen; }

  std::array<std::vector<double>, 3> const& seconds(std::size_t variant) const {
    return seconds_[variant];
  }
  std::vector<double> const& sm_hertz(std::size_t variant) const { return sm_hertz_[variant]; }

 private:
  struct tally {
    double sum = 0;
    int count = 0;
    void add(double value) noexcept {
      sum += value;
      ++count;
    }
    double mean() const noexcept { return sum / count; }
  };
  struct book {
    std::vector<tally> sums, turns;                        // of the open epoch, by variant
    std::array<tally, 2> pair;                             // of its control super-block
    std::vector<std::vector<double>> effects, carry_over;  // by contrast, then epoch
    std::vector<double> control;
    bool complete = true, seen = false;

    double check(double log_seconds) noexcept {
      complete = complete && !std::isnan(log_seconds);
      seen = seen || !std::isnan(log_seconds);
      return log_seconds;
    }
  };

  static double log_of(Cell const& from, std::size_t which) noexcept {
    double const seconds = from.seconds[which];
    return seconds > 0 && std::isfinite(seconds) ? std::log(seconds)
                                                 : std::numeric_limits<double>::quiet_NaN();
  }

  static void enter_cells(book& into, super_block const& block, std::vector<Cell> const& cells,
                          std::size_t which) {
    std::array<std::size_t, 2> const turns{block.turn(0), block.turn(1)};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      auto const variant = static_cast<std::size_t>(block.slots[i].variant);
      double const value = into.check(log_of(cells[i], which));
      into.sums[variant].add(value);
      if (i == turns[0] || i == turns[1]) {
        into.turns[variant].add(value - log_of(cells[i + 1], which));
      }
    }
  }

  static void enter_control(book& into, super_block const& block, std::vector<Cell> const& cells,
                            std::size_t which) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      double const value = into.check(log_of(cells[i], which));
      into.pair[block.slots[i].variant == 0 ? 0 : 1].add(value);
    }
  }

  void close(book& of) {
    tally common;
    for (auto const& turn : of.turns) {
      common.sum += turn.sum;
      common.count += turn.count;
    }
    for (std::size_t k = 0; k < contrasts_.size(); ++k) {
      double effect = 0;
      double carried = 0;
      for (std::size_t v = 0; v < of.sums.size(); ++v) {
        double const weight = contrasts_[k].weights[v];
        if (weight == 0) { continue; }
        effect += weight * of.sums[v].mean();
        carried += weight * after_others_[v].mean() *
                   (of.turns[v].count > 0 ? of.turns[v].mean() : common.mean());
      }
      of.effects[k].push_back(effect);
      of.carry_over[k].push_back(carried);
    }
    if (of.pair[0].count > 0) { of.control.push_back(of.pair[1].mean() - of.pair[0].mean()); }
    std::fill(of.sums.begin(), of.sums.end(), tally{});
    std::fill(of.turns.begin(), of.turns.end(), tally{});
    of.pair = {};
  }

  book const& at(clock on) const { return books_[static_cast<std::size_t>(on)]; }

  std::vector<contrast> contrasts_;
  std::array<book, 3> books_;
  std::vector<tally> after_others_;  // of the open epoch, by variant: did a cell follow another's?
  int last_ = -1;                    // the variant that ran last
  std::vector<std::array<std::vector<double>, 3>> seconds_;
  std::vector<std::vector<double>> sm_hertz_;
  int epochs_ = 0;
};
using ledger = basic_ledger<cell>;

}  // namespace assay::measure
