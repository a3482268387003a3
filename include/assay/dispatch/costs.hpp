// SPDX-License-Identifier: Apache-2.0
/// @file
/// `costs`: what a task costs on each path of a machine, and the choice between paths.
#pragma once

#include <assay/dispatch/curve.hpp>
#include <assay/dispatch/estimate.hpp>
#include <assay/dispatch/facts.hpp>
#include <assay/dispatch/machine_terms.hpp>
#include <assay/dispatch/path.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::dispatch {

/// The time that the load of a machine adds to the calls of one path.
struct path_load {
  double queue = 0;   ///< seconds until own work that a call waits for has ended
  double wait = 0;    ///< mean seconds that a call waits for others, however short it is
  double factor = 1;  ///< of the time of a call on resident arrays; copies are as without load
  bool operator==(path_load const&) const = default;
};
/// The load of paths, by their number.
using path_loads = std::array<path_load, 16>;

/// A part of a prediction: `queue`, `load`, `fork`, `submit`, `copies in`, `work`, `copies back` or
/// `sync`.
struct item {
  std::string_view name;
  estimate cost;
  std::string_view memory{};  ///< of copies: the type of host memory, or `mixed`
};

/// The predicted time of one call on one path, with its items.
///
/// The interval is made to hold the median of repeated calls at 9 new sizes in 10. On a busy
/// machine fewer intervals hold. Beyond the calibrated sizes, `extrapolated` is set and the
/// interval is a guess.
struct prediction {
  path where;
  estimate total;
  std::vector<item> items;
  bool extrapolated = false;

  /// `host{4}: 41 us [39, 44]: fork 6.0 us, work 35 us`.
  std::string describe() const {
    auto text = where.describe() + ": " + in_words(total);
    for (auto const& each : items) {
      text += (&each == items.data() ? ": " : ", ") + std::string{each.name} + ' ' +
              short_text(each.cost.seconds);
    }
    return extrapolated ? text + " (outside the calibrated sizes)" : text;
  }
};

/// The measurements of one path.
struct path_costs {
  path where = on::host{1};
  /// The times of whole calls, with their forks and waits. All arrays are in the memory that the
  /// path uses.
  std::vector<knot> knots{};
  double scale = 1;     ///< as in `curve`
  std::string wrong{};  ///< the first wrong result; there are then no knots
  /// Factors of the copies of a device path. The factors of one direction and type of memory
  /// have rising sizes.
  std::vector<copy_factor> factors{};
};

/// A node of a decision tree: see `choose::tree`. A call goes on at the next node if its feature is
/// below the threshold, and else at `other`.
struct tree_node {
  static constexpr std::size_t leaf = 9;  ///< the number of features
  std::size_t feature = leaf;
  double threshold = 0;
  std::size_t other = 0;  ///< of a leaf: the number of its path
  bool operator==(tree_node const&) const = default;
};

/// All that calibration finds out about a task, as the file keeps it.
struct measurements {
  std::string task;
  std::vector<path_costs> paths;
  machine_terms machine{};
  std::string cpu{}, device{}, driver{}, compiler{}, started_at{};
  std::string library{};    ///< what the task says of the library that computes it
  double sm_clock_mhz = 0;  ///< of the device while it worked; 0 where unknown
  int cores = 0;
  std::uint64_t seed = 0;
  int held_out = 0;               ///< the number of sizes that decided the intervals
  double expected_regret = 0;     ///< at the end of calibration, as a share
  std::vector<tree_node> tree{};  ///< of `with_tree`; its leaves have numbers of `paths`
};

/// The most knots of a path, or nodes of a tree, that a file can have.
inline constexpr std::size_t most_entries = 1000;

namespace detail {

/// Throws `std::invalid_argument` for nodes that lead nowhere, and for more than a file can have.
inline void require_tree(std::vector<tree_node> const& nodes, std::size_t paths,
                         std::string_view of) {
  if (nodes.size() > most_entries) {
    throw std::invalid_argument(std::string{of} + ": a tree of " + std::to_string(nodes.size()) +
                                " nodes: " + std::to_string(most_entries) +
                                " are the most; train it with less depth");
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto const& at = nodes[i];
    bool const is_leaf = at.feature == tree_node::leaf;
    if (is_leaf ? at.other < paths
                : at.feature < tree_node::leaf && at.other > i + 1 && at.other < nodes.size()) {
      continue;
    }
    throw std::invalid_argument(std::string{of} + ": node " + std::to_string(i) + " of " +
                                std::to_string(nodes.size()) +
                                " of its tree leads nowhere: train the tree again");
  }
}

}  // namespace detail

/// The costs of one task on one machine. Calls of const members from several threads are safe.
class costs {
 public:
  /// Throws `std::invalid_argument` without a path that computes right results, if a path is there
  /// twice, for knots that `curve` refuses, and for a tree that leads nowhere.
  explicit costs(measurements of) : all_(std::move(of)) {
    if (all_.paths.empty()) {
      throw std::invalid_argument(all_.task + ": the list of paths is empty: name one at least");
    }
    std::string why;
    for (std::size_t i = 0; i < all_.paths.size(); ++i) {
      auto const& each = all_.paths[i];
      if (index_of(each.where) != i) {
        throw std::invalid_argument(each.where.describe() + " is there twice: list each path once");
      }
      links_.emplace_back(all_.machine, each.where, each.factors);
      curves_.emplace_back();
      if (each.wrong.empty()) { curves_.back().emplace(each.knots, each.scale); }
      why += ": " + each.where.describe() + ": " + each.wrong;
    }
    detail::require_tree(all_.tree, all_.paths.size(), all_.task);
    for (auto const& each : curves_) {
      if (each) { return; }
    }
    throw std::invalid_argument(all_.task + ": no path computes right results" + why);
  }

  measurements const& measured() const noexcept { return all_; }
  std::string const& task() const noexcept { return all_.task; }
  std::vector<path_costs> const& paths() const noexcept { return all_.paths; }
  /// The device of all device paths, if there is one. Throws as `one_device`.
  std::optional<on::device> device() const {
    std::vector<path> all;
    for (auto const& each : all_.paths) { all.push_back(each.where); }
    return one_device(all);
  }
  /// Differences between this program and the program that calibrated, such as another compiler.
  /// Only `load` writes them.
  std::vector<std::string> warnings;

  /// The number of a path in `paths()`. Throws `std::invalid_argument` if the path is missing.
  std::size_t index_of(path const& wanted) const {
    std::string all;
    for (std::size_t i = 0; i < all_.paths.size(); ++i) {
      if (all_.paths[i].where == wanted) { return i; }
      all += (i == 0 ? "" : ", ") + all_.paths[i].where.describe();
    }
    throw std::invalid_argument("the costs of " + all_.task + " have no path " + wanted.describe() +
                                ": there are " + all);
  }

  /// The copies that a call needs on a path.
  copies copies_of(std::size_t number, facts const& known) const noexcept {
    return links_[number].of(known, log_size(known));
  }
  /// The predicted seconds of a call; infinite where it is impossible or known to be wrong.
  double seconds(std::size_t number, facts const& known,
                 path_load const& under = {}) const noexcept {
    return seconds(number, known, log_size(known), under);
  }

  /// The number of the path with the least predicted time.
  std::size_t best(facts const& known) const noexcept {
    return best(known, [](std::size_t) noexcept { return path_load{}; });
  }
  /// The same on a machine under load. There may be no more paths than loads.
  std::size_t best(facts const& known, path_loads const& under) const noexcept {
    return best(known, [&under](std::size_t number) noexcept { return under[number]; });
  }
  /// The path with the least predicted time.
  path const& choose(facts const& known) const noexcept { return all_.paths[best(known)].where; }

  prediction predict(std::size_t number, facts const& known, path_load const& under = {}) const {
    auto const& where = all_.paths[number].where;
    auto const& calls = curves_[number];
    prediction made{.where = where, .total = impossible, .items = {}};
    if (!calls) { return made; }
    double const at = log_size(known);
    double const middle = std::exp2(calls->log_seconds(at));
    double const factor = std::exp2(calls->half_width(at));
    estimate const call{middle, middle / factor, middle * factor};
    auto const moved = links_[number].of(known, at);
    // A wait for others is as likely to be short as to be twice the mean.
    double const longer = (under.factor - 1) * middle;
    estimate const load{under.wait + longer, longer, 2 * under.wait + longer};
    estimate const queue{under.queue, under.queue, under.queue};
    made.total = call + moved.submit + moved.before + moved.after + load + queue;
    made.extrapolated = !calls->covers(at);
    if (!std::isfinite(made.total.seconds)) { return made; }

    auto const part = fixed_part(where, middle);
    auto const add = [&](std::string_view name, estimate const& cost,
                         std::string_view memory = {}) {
      if (cost.seconds > 0) { made.items.push_back({name, cost, memory}); }
    };
    auto const& links = links_[number];
    bool const host = where.host() != nullptr;
    add("queue", queue);
    add("load", load);
    if (host) { add("fork", part); }
    add("submit", moved.submit);
    add("copies in", moved.before,
        memory_of(known, [&](auto const& each) { return links.goes_in(each); }));
    double const rest = middle - part.seconds;
    add("work", {rest, std::max(0.0, call.low - part.seconds), call.high - part.seconds});
    add("copies back", moved.after,
        memory_of(known, [&](auto const& each) { return links.goes_back(each); }));
    if (!host) { add("sync", part); }
    return made;
  }

 private:
  /// Each inner node leads on to later nodes, and each leaf to a path.
  template <class Load>
  std::size_t best(facts const& known, Load const& under) const noexcept {
    double const at = log_size(known);
    std::size_t chosen = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      if (double const each = seconds(i, known, at, under(i)); each < least) {
        least = each;
        chosen = i;
      }
    }
    return chosen;
  }

  static double log_size(facts const& known) noexcept {
    return std::log2(static_cast<double>(std::max<std::size_t>(known.amount.size, 1)));
  }

  /// The type of memory of those arrays that are copied.
  template <class Copied>
  static std::string_view memory_of(facts const& known, Copied const& copied) {
    std::string_view found;
    for (std::size_t i = 0; i < known.count; ++i) {
      if (!copied(known.arrays[i])) { continue; }
      std::string_view const its = in_words(known.arrays[i].memory);
      found = found.empty() || found == its ? its : "mixed";
    }
    return found;
  }

  double seconds(std::size_t number, facts const& known, double at,
                 path_load const& under) const noexcept {
    if (!curves_[number]) { return std::numeric_limits<double>::infinity(); }
    double const call =
        std::exp2(curves_[number]->log_seconds(at)) * under.factor + under.wait + under.queue;
    if (known.count == 0) { return call; }
    return call + links_[number].of(known, at).seconds();
  }

  /// The fork or the sync in a call of this length. A call that is shorter than a fork did not
  /// fork, and has none.
  estimate fixed_part(path const& where, double call) const noexcept {
    estimate part = where.device() != nullptr ? all_.machine.sync : estimate{};
    for (auto const& each : all_.machine.forks) {
      if (where.host() != nullptr && where.host()->threads == each.threads) { part = each.cost; }
    }
    return part.seconds < call ? part : estimate{};
  }

  measurements all_;
  std::vector<std::optional<curve>> curves_;
  std::vector<path_links> links_;
};

}  // namespace assay::dispatch
