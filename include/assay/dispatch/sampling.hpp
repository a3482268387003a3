// SPDX-License-Identifier: Apache-2.0
/// @file
/// `calibrate_on`: measures paths at the sizes that matter for the choice between them.
#pragma once

#include <assay/dispatch/copy_factors.hpp>
#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/next_size.hpp>
#include <assay/dispatch/timing.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::dispatch {

/// The smallest and the largest size of calls.
struct size_range {
  std::size_t first = 1;
  std::size_t last = 1;

  void require() const {
    if (first >= 1 && last / 2 >= first) { return; }
    throw std::invalid_argument("sizes = {" + std::to_string(first) + ", " + std::to_string(last) +
                                "}: the first is 1 or more, and the last at least twice the first");
  }
  /// A size such that all octaves are as likely.
  std::size_t draw(stats::random_source& from) const {
    double const share = static_cast<double>(from.next() >> 11U) * 0x1p-53;
    return static_cast<std::size_t>(
        std::round(static_cast<double>(first) *
                   std::pow(static_cast<double>(last) / static_cast<double>(first), share)));
  }
};

namespace detail {

inline bool is_smaller(knot const& a, knot const& b) noexcept { return a.size < b.size; }

/// The result of several moments at a size: the median of their medians. The spread is that between
/// the moments, or within one if that is more.
inline knot merged(std::vector<knot> const& moments) {
  std::vector<double> medians, spreads;
  for (auto const& each : moments) {
    medians.push_back(each.seconds);
    spreads.push_back(each.spread);
  }
  auto found = summarised(static_cast<std::size_t>(moments.front().size), std::move(medians));
  found.spread = std::max(found.spread, stats::summarise(spreads).median);
  return found;
}

/// The sizes that a calibration has measured on its paths, each at one moment or at several.
template <class Bench, class Options>
class sampler {
 public:
  sampler(Bench& bench, measurements& found, Options const& options)
      : random{found.seed},
        bench_(bench),
        found_(found),
        options_(options),
        knots_(found.paths.size()) {}

  double used() const { return bench_.now() - begin_; }
  std::size_t count(bool held_out) const {
    return static_cast<std::size_t>(std::count_if(
        sizes_.begin(), sizes_.end(), [=](auto const& at) { return at.held_out == held_out; }));
  }
  /// Measures a new size on all paths.
  void add(std::size_t size, bool held_out) {
    if (options_.progress) { options_.progress(used() / options_.budget_seconds, size); }
    measured made{size, held_out, bench_.open(size),
                  std::vector<std::vector<knot>>(found_.paths.size())};
    verify(size);
    made.paths = right_paths();
    made.calls = group_sizes(bench_, made.paths);
    sizes_.push_back(std::move(made));
    measure(sizes_.back());
  }
  /// Measures sizes again, those first that were measured longest ago, until a quarter of the time
  /// so far went into that. False if all sizes have been measured often enough: at 25 moments, or
  /// for a thirtieth of the budget.
  bool repeat() {
    constexpr std::size_t enough_moments = 25;
    auto const is_done = [&](measured const& at) {
      return at.moments >= enough_moments || at.seconds > options_.budget_seconds / 30;
    };
    do {
      auto const oldest = std::find_if_not(sizes_.begin(), sizes_.end(), is_done);
      if (oldest == sizes_.end()) { return false; }
      std::rotate(oldest, oldest + 1, sizes_.end());
      double const begin = bench_.now();
      bench_.open_again(sizes_.back().number);
      measure(sizes_.back());
      repeated_ += bench_.now() - begin;
    } while (repeated_ < 0.25 * used() && used() < options_.budget_seconds);
    return true;
  }
  /// The knots so far of the paths with right results, without held-out sizes.
  std::vector<std::vector<knot>> const& right_knots() {
    right_.clear();
    for (std::size_t i = 0; i < knots_.size(); ++i) {
      if (found_.paths[i].wrong.empty()) { right_.push_back(knots_[i]); }
    }
    return right_;
  }
  /// Gives the paths their knots and the scales of their intervals.
  void conclude() {
    for (std::size_t p = 0; p < knots_.size(); ++p) {
      auto& path = found_.paths[p];
      if (!path.wrong.empty()) { continue; }
      curve const unscaled{knots_[p], 1};
      std::vector<std::vector<double>> errors;
      for (auto const& at : sizes_) {
        if (!at.held_out) { continue; }
        auto& of_size = errors.emplace_back();
        // A prediction is for one moment, and so are these errors.
        for (auto const& moment : at.by_path[p]) {
          double const log_size = std::log2(moment.size);
          of_size.push_back(std::abs(std::log2(moment.seconds) - unscaled.log_seconds(log_size)) /
                            unscaled.spread(log_size));
        }
      }
      path.scale = conformal_scale(errors);
      // The held-out sizes become knots too. They only improve the curve that gave the scale.
      path.knots = std::move(knots_[p]);
      for (auto const& at : sizes_) {
        if (at.held_out) { put(merged(at.by_path[p]), path.knots); }
      }
    }
  }

  stats::random_source random;

 private:
  struct measured {
    std::size_t size;
    bool held_out;
    std::size_t number;  // of its arrays
    std::vector<std::vector<knot>> by_path;
    std::vector<std::size_t> paths{};  // with right results
    std::vector<int> calls{};          // in the groups of these
    std::size_t moments = 0;
    double seconds = 0;  // that all moments took
  };

  /// Puts a knot in its place, or in the place of the knot of that size.
  static void put(knot const& made, std::vector<knot>& into) {
    auto const at = std::lower_bound(into.begin(), into.end(), made, is_smaller);
    if (at != into.end() && at->size == made.size) {
      *at = made;
    } else {
      into.insert(at, made);
    }
  }
  /// Runs each path once at the open size, and marks those with wrong results.
  void verify(std::size_t size) {
    for (std::size_t i = 0; i < found_.paths.size(); ++i) {
      auto& wrong = found_.paths[i].wrong;
      if (!wrong.empty()) { continue; }
      if (auto const what = bench_.wrong(i)) {
        wrong = "at size " + std::to_string(size) + ": " + *what;
      }
    }
    if (right_paths().empty()) { (void)costs{found_}; }  // says why
  }
  std::vector<std::size_t> right_paths() const {
    std::vector<std::size_t> right;
    for (std::size_t i = 0; i < found_.paths.size(); ++i) {
      if (found_.paths[i].wrong.empty()) { right.push_back(i); }
    }
    return right;
  }
  /// Measures the open size at one more moment. The first has three rounds at least, so that an
  /// outlier counts for nothing.
  void measure(measured& at) {
    int const rounds = at.moments == 0 ? 9 : 3;
    // Another size may have shown that a path is wrong.
    for (std::size_t i = at.paths.size(); i-- > 0;) {
      if (found_.paths[at.paths[i]].wrong.empty()) { continue; }
      at.paths.erase(at.paths.begin() + static_cast<std::ptrdiff_t>(i));
      at.calls.erase(at.calls.begin() + static_cast<std::ptrdiff_t>(i));
    }
    double const begin = bench_.now();
    auto const times = interleaved(bench_, at.paths, at.calls, rounds, moment_seconds, random);
    for (std::size_t i = 0; i < at.paths.size(); ++i) {
      auto& moments = at.by_path[at.paths[i]];
      moments.push_back(summarised(at.size, times[i]));
      if (!at.held_out) { put(merged(moments), knots_[at.paths[i]]); }
    }
    ++at.moments;
    at.seconds += bench_.now() - begin;
  }

  Bench& bench_;
  measurements& found_;
  Options const& options_;
  double begin_ = bench_.now();
  double repeated_ = 0;          // the seconds of further moments
  std::vector<measured> sizes_;  // the latest measured last
  std::vector<std::vector<knot>> knots_, right_;
};

/// A grid of 3 to 12 sizes at the same distance in octaves: `apart`, or more.
inline std::vector<std::size_t> grid_of(size_range const& of, double apart) {
  std::vector<std::size_t> sizes;
  auto const first = static_cast<double>(of.first);
  double const octaves = std::log2(static_cast<double>(of.last) / first);
  auto const grid = static_cast<int>(std::clamp(1 + octaves / apart, 3.0, 12.0));
  for (int i = 0; i < grid; ++i) {
    auto const size =
        static_cast<std::size_t>(std::round(first * std::exp2(octaves * i / (grid - 1))));
    if (sizes.empty() || sizes.back() != size) { sizes.push_back(size); }
  }
  return sizes;
}

/// The grid and the first held-out sizes, in random order.
inline std::vector<std::pair<std::size_t, bool>> first_sizes(size_range const& of,
                                                             stats::random_source& random) {
  std::vector<std::pair<std::size_t, bool>> plan;  // a size, whether it is held out
  for (auto const size : grid_of(of, 2)) { plan.emplace_back(size, false); }
  for (std::size_t i = 0; i < fewest_held_out; ++i) { plan.emplace_back(of.draw(random), true); }
  random.shuffle(plan);
  return plan;
}

}  // namespace detail

/// Measures the paths of `found` by a bench. `open(size)` prepares calls of a size and returns a
/// number, with which `open_again` goes back to them. `wrong(path)` runs one call and returns the
/// error of its result. `seconds(path, calls)` times a group of calls, of `group_seconds()` or
/// more. `now()` is a clock for the budget.
///
/// `host_memories()` are the types of host memory with copies that count, perhaps none.
/// `lie_in(memory)` chooses one for the next size, or the memory of each path.
/// `make_resident(which)` decides for the open size, and `known()` are the facts of its calls.
///
/// A coarse grid of sizes and the first nine held-out sizes come first, in random order. Then three
/// kinds take turns: held-out sizes, new sizes, and sizes measured before, since a machine may be
/// slower for seconds. New sizes are first those that save the most wrong choices, and then those
/// where curves bend most. A bench that copies has a fourth kind: calls over host memory at 12
/// sizes at most, which give the factors of copies. Ends with the budget, or when nothing is
/// left to gain. A path with a wrong result has no curve. Throws `std::invalid_argument` for a
/// budget that ends before the intervals are known.
template <class Bench, class Options>
costs calibrate_on(Bench& bench, measurements found, Options const& options) {
  constexpr std::size_t most_held_out = 19, most_for_choices = 48, most_knots = 64;
  constexpr double enough_regret = 0.005, enough_error = 0.005;
  options.sizes.require();
  if (!(options.budget_seconds > 0)) {
    throw std::invalid_argument("budget_seconds = " + stats::number_text(options.budget_seconds) +
                                ": a number above 0 is needed, such as 5");
  }
  detail::sampler<Bench, Options> sizes{bench, found, options};
  auto const plan = detail::first_sizes(options.sizes, sizes.random);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (double const used = sizes.used(); used > options.budget_seconds) {
      throw std::invalid_argument("budget_seconds = " + stats::number_text(options.budget_seconds) +
                                  " is too small: " + std::to_string(i) + " of the " +
                                  std::to_string(plan.size()) + " sizes that intervals need took " +
                                  stats::number_text(used) +
                                  " s; give more seconds or smaller sizes");
    }
    sizes.add(plan[i].first, plan[i].second);
  }

  // The bytes of a product grow by two octaves in one of its edge, so copies need a finer grid.
  detail::copy_sampler<Bench> copies{bench, found, detail::grid_of(options.sizes, 1), sizes.random};
  auto const next = [&]() -> std::size_t {
    auto const count = sizes.count(false);
    if (count >= most_knots) { return 0; }
    auto const& knots = sizes.right_knots();
    auto const choices = plan_next(knots);
    if (count < most_for_choices && choices.avoidable > enough_regret) { return choices.size; }
    auto const shape = plan_shape(knots);
    return shape.avoidable > enough_error ? shape.size : 0;
  };
  for (bool gains = true; gains && sizes.used() < options.budget_seconds;) {
    gains = false;
    if (sizes.count(true) < most_held_out) {
      sizes.add(options.sizes.draw(sizes.random), true);
      gains = true;
    }
    for (int i = 0; i < 2; ++i) {
      if (auto const size = next(); size != 0 && sizes.used() < options.budget_seconds) {
        sizes.add(size, false);
        gains = true;
      }
    }
    while (copies.next(options.budget_seconds / 50)) {
      gains = true;
      if (copies.used() > 0.25 * sizes.used() || sizes.used() > options.budget_seconds) { break; }
    }
    if (sizes.used() < options.budget_seconds && sizes.repeat()) { gains = true; }
  }
  for (std::size_t p = 0; p < found.paths.size(); ++p) {
    found.paths[p].factors = copies.factors(p);
  }
  found.expected_regret = plan_next(sizes.right_knots()).expected_regret;
  found.held_out = static_cast<int>(sizes.count(true));
  sizes.conclude();
  return costs{std::move(found)};
}

}  // namespace assay::dispatch
