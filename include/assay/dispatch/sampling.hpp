// SPDX-License-Identifier: Apache-2.0
/// @file
/// `calibrate_on`: measures paths at the sizes that matter for the choice between them.
#pragma once

#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/next_size.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/randomised_blocks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
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

/// The median of times, with the interval of the median as a spread. The interval goes from the
/// least time to the largest. With 8 times or more it leaves out one at each end, and holds the
/// median with a probability of 93 % or more.
inline knot summarised(std::size_t size, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  auto const cut = times.size() >= 8 ? std::size_t{1} : 0;
  double const median = 0.5 * (times[(times.size() - 1) / 2] + times[times.size() / 2]);
  return {static_cast<double>(size), median,
          0.5 * std::log2(times[times.size() - 1 - cut] / times[cut])};
}

inline bool is_smaller(knot const& a, knot const& b) noexcept { return a.size < b.size; }

/// The number of calls in a group that takes `group_seconds()` or more. Ticks of the clock do not
/// matter to such a group. One long group may be an outlier, so a group must be long enough five
/// times in a row, or 300 times too long once.
template <class Bench>
int group_size(Bench& bench, std::size_t path) {
  int calls = 1;
  for (int long_ones = 0; long_ones < 5 && calls < 1 << 20;) {
    double const taken = bench.seconds(path, calls);
    if (taken > 300 * bench.group_seconds()) { break; }
    if (taken >= bench.group_seconds()) {
      ++long_ones;
      continue;
    }
    double const share = bench.group_seconds() / std::max(taken, 1e-12);
    calls = std::clamp(static_cast<int>(1.2 * calls * std::min(share, 16.0)), calls + 1, 1 << 20);
    long_ones = 0;
  }
  return calls;
}

/// Times of the paths `of` at the open size, in rounds. Each round has all paths in random order.
/// No round begins after `limit_seconds`, but at least a third of the rounds run.
template <class Bench>
std::vector<std::vector<double>> interleaved(Bench& bench, std::vector<std::size_t> of, int rounds,
                                             double limit_seconds, stats::random_source& random) {
  std::vector<int> calls;
  for (auto const path : of) { calls.push_back(group_size(bench, path)); }
  std::vector<std::vector<double>> times(of.size());
  double const begin = bench.now();
  for (int round = 0; round < rounds && (3 * round < rounds || bench.now() - begin < limit_seconds);
       ++round) {
    for (auto const i : stats::draw_order(of.size(), random)) {
      times[i].push_back(bench.seconds(of[i], calls[i]) / calls[i]);
    }
  }
  return times;
}

}  // namespace detail

/// Measures the paths of `found` by a bench. `open(size)` prepares calls of a size. `wrong(path)`
/// runs one call and says what is wrong with its result. `seconds(path, calls)` times a group of
/// calls, of `group_seconds()` or more. `now()` is a clock for the budget.
///
/// A coarse grid of sizes and the first nine held-out sizes come first, in random order. Then sizes
/// that save the most wrong choices and held-out sizes take turns. A path with a wrong result has
/// no curve. Throws `std::invalid_argument` for a budget that ends before the intervals are known.
template <class Bench, class Options>
costs calibrate_on(Bench& bench, measurements found, Options const& options) {
  constexpr std::size_t most_held_out = 19;
  constexpr std::size_t most_knots = 48;
  constexpr double enough_regret = 0.005;
  constexpr int rounds = 9;
  options.sizes.require();
  if (!(options.budget_seconds > 0)) {
    throw std::invalid_argument("budget_seconds = " + stats::number_text(options.budget_seconds) +
                                ": a number above 0 is needed, such as 5");
  }
  stats::random_source random{found.seed};
  std::vector<std::vector<knot>> knots(found.paths.size()), held_out(found.paths.size());
  double const begin = bench.now();

  auto const measure = [&](std::size_t size, std::vector<std::vector<knot>>& to) {
    if (options.progress) {
      options.progress((bench.now() - begin) / options.budget_seconds, size);
    }
    bench.open(size);
    std::vector<std::size_t> right;
    for (std::size_t i = 0; i < found.paths.size(); ++i) {
      auto& wrong = found.paths[i].wrong;
      if (!wrong.empty()) { continue; }
      if (auto const what = bench.wrong(i)) {
        wrong = "at size " + std::to_string(size) + ": " + *what;
      } else {
        right.push_back(i);
      }
    }
    if (right.empty()) { (void)costs{found}; }  // says why
    auto const times =
        detail::interleaved(bench, right, rounds, options.budget_seconds / 40, random);
    for (std::size_t i = 0; i < right.size(); ++i) {
      auto const made = detail::summarised(size, times[i]);
      auto& list = to[right[i]];
      list.insert(std::upper_bound(list.begin(), list.end(), made, detail::is_smaller), made);
    }
  };

  std::vector<std::pair<std::size_t, bool>> plan;  // a size, whether it is held out
  double const octaves =
      std::log2(static_cast<double>(options.sizes.last) / static_cast<double>(options.sizes.first));
  auto const grid = static_cast<int>(std::clamp(1 + octaves / 2, 3.0, 12.0));
  for (int i = 0; i < grid; ++i) {
    auto const size = static_cast<std::size_t>(
        std::round(static_cast<double>(options.sizes.first) * std::exp2(octaves * i / (grid - 1))));
    if (plan.empty() || plan.back().first != size) { plan.emplace_back(size, false); }
  }
  for (std::size_t i = 0; i < fewest_held_out; ++i) {
    plan.emplace_back(options.sizes.draw(random), true);
  }
  random.shuffle(plan);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    double const used = bench.now() - begin;
    if (used > options.budget_seconds) {
      throw std::invalid_argument("budget_seconds = " + stats::number_text(options.budget_seconds) +
                                  " is too small: " + std::to_string(i) + " of the " +
                                  std::to_string(plan.size()) + " sizes that intervals need took " +
                                  stats::number_text(used) +
                                  " s; give more seconds or smaller sizes");
    }
    measure(plan[i].first, plan[i].second ? held_out : knots);
  }

  auto const next = [&] {
    std::vector<std::vector<knot>> right;
    for (std::size_t i = 0; i < found.paths.size(); ++i) {
      if (found.paths[i].wrong.empty()) { right.push_back(knots[i]); }
    }
    return right.empty() || right[0].size() >= most_knots ? next_size{} : plan_next(right);
  };
  std::size_t held = fewest_held_out;
  auto planned = next();
  while (bench.now() - begin < options.budget_seconds) {
    bool const refines = planned.size != 0 && planned.expected_regret > enough_regret;
    if (!refines && held == most_held_out) { break; }
    if (held < most_held_out) {
      measure(options.sizes.draw(random), held_out);
      ++held;
    }
    if (refines) {
      measure(planned.size, knots);
      planned = next();
    }
  }
  found.expected_regret = planned.expected_regret;
  found.held_out = static_cast<int>(held);
  for (std::size_t i = 0; i < found.paths.size(); ++i) {
    auto& each = found.paths[i];
    if (!each.wrong.empty()) { continue; }
    curve const unscaled{knots[i], 1};
    std::vector<double> errors;
    for (auto const& at : held_out[i]) {
      double const log_size = std::log2(at.size);
      errors.push_back(std::abs(std::log2(at.seconds) - unscaled.log_seconds(log_size)) /
                       unscaled.spread(log_size));
    }
    each.scale = conformal_scale(std::move(errors));
    // The held-out sizes become knots too. They only improve the curve whose errors gave the scale.
    std::merge(knots[i].begin(), knots[i].end(), held_out[i].begin(), held_out[i].end(),
               std::back_inserter(each.knots), detail::is_smaller);
    auto const same = std::unique(each.knots.begin(), each.knots.end(),
                                  [](knot const& a, knot const& b) { return a.size == b.size; });
    each.knots.erase(same, each.knots.end());
  }
  return costs{std::move(found)};
}

}  // namespace assay::dispatch
