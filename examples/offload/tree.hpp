// SPDX-License-Identifier: Apache-2.0
/// @file
/// `tree`: a chooser, a decision tree that is trained on timed calls.
#pragma once

#include <assay/dispatch/choose.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {

using dispatch::facts, dispatch::path;

/// A node of a decision tree. A call goes on at the next node if its feature is below the
/// threshold, and else at `other`.
struct tree_node {
  static constexpr std::size_t leaf = 9;  ///< the number of features
  std::size_t feature = leaf;
  double threshold = 0;
  std::size_t other = 0;  ///< of a leaf: the number of its path
  bool operator==(tree_node const&) const = default;
};

/// A timed call, to train on: its seconds on each path, infinite where it is impossible.
struct tree_row {
  facts known;
  std::vector<double> seconds;
};

/// A tree knows nine numbers of a call. They are its size, its bytes and its flops, and the bytes
/// that a call on a device copies in and back: of all arrays, and of the arrays in pageable memory.
/// The others are the flops for each byte that is copied, and for each pageable byte: products of
/// matrices of one size differ in these by their shape.
struct tree_features {
  static constexpr std::size_t count = tree_node::leaf;
  std::array<double, count> values{};

  explicit tree_features(facts const& known) noexcept {
    auto& [size, bytes, flops, in, back, pageable_in, pageable_back, per_byte, per_pageable] =
        values;
    size = static_cast<double>(known.amount.size);
    bytes = known.amount.bytes;
    flops = known.amount.flops;
    for (std::size_t i = 0; i < known.count; ++i) {
      auto const& each = known.arrays[i];
      if (each.memory == memory_type::device) { continue; }
      double const read = each.is_read() ? each.bytes : 0;
      double const written = each.is_written() ? each.bytes : 0;
      bool const pageable = each.memory == memory_type::pageable;
      in += read, back += written;
      pageable_in += pageable ? read : 0, pageable_back += pageable ? written : 0;
    }
    per_byte = flops / std::max(in + back, 1.0);
    per_pageable = flops / std::max(pageable_in + pageable_back, 1.0);
  }
};

/// The path at the leaf of a decision tree that the facts of a call lead to.
struct tree {
  std::vector<path> paths;
  std::vector<tree_node> nodes;  ///< leaves have numbers of `paths`

  static constexpr std::string_view name = "tree";
  std::size_t leaves() const noexcept { return (nodes.size() + 1) / 2; }
  std::string describe() const { return parameter_list{}.show("leaves", leaves()).after(name); }
  bool operator==(tree const&) const = default;

  /// Throws `std::invalid_argument` for a tree that leads nowhere, and for a path that the costs
  /// lack.
  auto bound(dispatch::costs const& of) const {
    bool leads = !nodes.empty();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      auto const& at = nodes[i];
      bool const is_leaf = at.feature == tree_node::leaf;
      leads = leads && (is_leaf ? at.other < paths.size()
                                : at.feature < tree_node::leaf && at.other > i + 1 &&
                                      at.other < nodes.size());
    }
    if (!leads) {
      throw std::invalid_argument("a tree of " + std::to_string(nodes.size()) +
                                  " nodes leads nowhere: train one by train_tree");
    }
    auto mine = nodes;
    for (auto& each : mine) {
      if (each.feature == tree_node::leaf) {
        each.other = dispatch::choose::detail::right_path(of, paths[each.other]);
      }
    }
    return [mine = std::move(mine)](facts const& known) noexcept {
      auto const features = tree_features{known}.values;
      std::size_t at = 0;
      while (mine[at].feature != tree_node::leaf) {
        at = features[mine[at].feature] < mine[at].threshold ? at + 1 : mine[at].other;
      }
      return mine[at].other;
    };
  }
};
static_assert(dispatch::chooser<tree>);

/// The limits of a tree.
struct tree_limits {
  int depth = 8;           ///< levels of splits
  std::size_t fewest = 3;  ///< rows at a leaf: fewer may be noise
};

namespace detail {

/// Grows a tree. The cost of a row on a path is the share by which it exceeds the best path.
class tree_growth {
 public:
  using numbers = std::vector<std::size_t>;  // of rows

  tree_growth(std::vector<path> paths, std::span<tree_row const> rows, std::size_t fewest)
      : paths_(paths.size()), fewest_(std::max<std::size_t>(fewest, 1)) {
    grown_.paths = std::move(paths);
    for (auto const& each : rows) {
      features_.push_back(tree_features{each.known}.values);
      double const best = *std::min_element(each.seconds.begin(), each.seconds.end());
      auto& costs = costs_.emplace_back();
      for (double const mine : each.seconds) { costs.push_back(std::min(mine / best - 1, most)); }
    }
  }

  /// A split and the cost of the tree below it; `feature` marks a leaf where no split is better
  /// than none.
  struct split {
    double cost = 0;
    std::size_t feature = tree_node::leaf;
    double threshold = 0;
    std::size_t path = 0;  ///< of a leaf
  };

  /// The best of all trees that are at most this deep, by search through all splits.
  split best(numbers const& rows, int depth) const {
    auto found = best_leaf(rows);
    for (std::size_t f = 0; depth > 0 && found.cost > 0 && f < tree_features::count; ++f) {
      auto sorted = rows;
      auto const value = [&](std::size_t row) { return features_[row][f]; };
      std::sort(sorted.begin(), sorted.end(),
                [&](std::size_t a, std::size_t b) { return value(a) < value(b); });
      auto const take = [&](double cost, std::size_t i) {
        if (cost >= found.cost * (1 - 1e-9)) { return; }
        double const low = value(sorted[i - 1]), high = value(sorted[i]);
        found = {cost, f, low > 0 ? std::sqrt(low * high) : 0.5 * high, 0};
      };
      if (depth == 1) {
        for_stumps(sorted, value, take);
        continue;
      }
      for (std::size_t i = fewest_; i + fewest_ <= sorted.size(); ++i) {
        if (value(sorted[i - 1]) == value(sorted[i])) { continue; }
        auto const middle = sorted.begin() + static_cast<std::ptrdiff_t>(i);
        double const below = best({sorted.begin(), middle}, depth - 1).cost;
        if (below < found.cost) { take(below + best({middle, sorted.end()}, depth - 1).cost, i); }
      }
    }
    return found;
  }

  /// Adds the nodes of these rows. A split is the best by itself where that is good enough, and
  /// else the first of the best tree of two levels: some pairs of splits help only together.
  void grow(numbers const& rows, int depth) {
    double const enough = 0.005 * static_cast<double>(rows.size());
    auto chosen = best_leaf(rows);
    for (int levels = 1; levels <= std::min(depth, 2) && chosen.cost > enough; ++levels) {
      chosen = best(rows, levels);
    }
    auto const at = grown_.nodes.size();
    grown_.nodes.push_back({chosen.feature, chosen.threshold, chosen.path});
    if (chosen.feature == tree_node::leaf) { return; }
    numbers below, other;
    for (auto const row : rows) {
      (features_[row][chosen.feature] < chosen.threshold ? below : other).push_back(row);
    }
    grow(below, depth - 1);
    grown_.nodes[at].other = grown_.nodes.size();
    grow(other, depth - 1);
  }
  tree const& grown() const noexcept { return grown_; }

 private:
  static constexpr double most = 1e3;  // impossible paths have no finite cost

  split best_leaf(numbers const& rows) const {
    std::vector<double> sums(paths_);
    for (auto const row : rows) {
      for (std::size_t p = 0; p < paths_; ++p) { sums[p] += costs_[row][p]; }
    }
    auto const least = std::min_element(sums.begin(), sums.end());
    split found{.cost = *least};
    found.path = static_cast<std::size_t>(least - sums.begin());
    return found;
  }
  /// Calls `take(cost, i)` for each split into the rows before `i` and the others.
  template <class Value, class Take>
  void for_stumps(numbers const& sorted, Value const& value, Take const& take) const {
    std::vector<double> below(paths_), above(paths_);
    for (auto const row : sorted) {
      for (std::size_t p = 0; p < paths_; ++p) { above[p] += costs_[row][p]; }
    }
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      for (std::size_t p = 0; p < paths_; ++p) {
        below[p] += costs_[sorted[i - 1]][p];
        above[p] -= costs_[sorted[i - 1]][p];
      }
      bool const fits = i >= fewest_ && i + fewest_ <= sorted.size();
      if (!fits || value(sorted[i - 1]) == value(sorted[i])) { continue; }
      take(*std::min_element(below.begin(), below.end()) +
               std::max(0.0, *std::min_element(above.begin(), above.end())),
           i);
    }
  }

  std::size_t paths_;
  std::size_t fewest_;
  std::vector<std::array<double, tree_features::count>> features_;
  std::vector<std::vector<double>> costs_;
  tree grown_;
};

}  // namespace detail

/// Trains a tree on timed calls, in time that grows with the square of their number. Throws
/// `std::invalid_argument` without rows, and for a row without a possible path or with a time that
/// is not above 0.
inline tree train_tree(std::vector<path> const& paths, std::span<tree_row const> rows,
                       tree_limits const& limits = {}) {
  if (rows.empty()) { throw std::invalid_argument("a tree of 0 rows: give timed calls"); }
  for (auto const& each : rows) {
    bool const fits = each.seconds.size() == paths.size();
    bool any = false, positive = true;
    for (double const one : each.seconds) {
      any = any || std::isfinite(one);
      positive = positive && one > 0;  // false of NaN
    }
    if (fits && any && positive) { continue; }
    throw std::invalid_argument("a row of size " + std::to_string(each.known.amount.size) +
                                " has " + std::to_string(each.seconds.size()) + " times for " +
                                std::to_string(paths.size()) +
                                " paths: one above 0 for each is needed, and one of them finite");
  }
  detail::tree_growth growth{paths, rows, limits.fewest};
  detail::tree_growth::numbers all(rows.size());
  for (std::size_t i = 0; i < all.size(); ++i) { all[i] = i; }
  growth.grow(all, limits.depth);
  return growth.grown();
}

}  // namespace assay::examples
