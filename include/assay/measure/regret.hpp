// SPDX-License-Identifier: Apache-2.0
/// @file
/// `regret`: what a chooser's decisions cost against the best possible ones.
#pragma once

#include <assay/dispatch/choose.hpp>
#include <assay/measure/calibrate.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace assay::measure {

/// Times of the same calls on every path: the medians of both halves of interleaved repetitions.
struct timed_calls {
  struct call {
    dispatch::facts known;
    std::array<std::vector<double>, 2> halves;  ///< seconds by path; infinite for impossible ones
  };
  std::vector<call> calls;
};

/// The calls of `time_calls`: `count` sizes, all octaves as likely.
template <dispatch::task T>
struct stream_of_calls {
  dispatch::size_range sizes;
  std::size_t count = 200;
  std::function<T(setup& arrays, std::size_t size)> make;
  std::uint64_t seed = 0;  ///< 0 draws one
  /// The memory of all arrays. Host paths are impossible for arrays in device memory.
  memory_type memory = memory_type::pageable;
};

/// Times a stream of calls on all paths of the costs, each from its begin to its end with the
/// copies that the memory of the arrays needs. Blocks; throws as `calibrate`.
template <dispatch::task T>
timed_calls time_calls(dispatch::costs const& of, stream_of_calls<T> const& options) {
  constexpr int rounds = 18;
  options.sizes.require();
  auto const seed = options.seed != 0 ? options.seed : stats::draw_seed();
  stats::random_source random{seed};
  std::vector<dispatch::path> paths;
  std::vector<std::size_t> right;
  for (auto const& each : of.paths()) {
    bool const reaches = each.where.host() == nullptr || options.memory != memory_type::device;
    if (each.wrong.empty() && reaches) { right.push_back(paths.size()); }
    paths.push_back(each.where);
  }
  detail::task_bench<T> bench{paths, options.make, seed};
  bench.lie_in(options.memory);
  timed_calls all;
  for (std::size_t i = 0; i < options.count; ++i) {
    bench.open(options.sizes.draw(random));
    auto& call = all.calls.emplace_back();
    call.known = bench.facts();
    auto const times = dispatch::detail::interleaved(bench, right, rounds, 0.2, random);
    for (std::size_t half = 0; half < 2; ++half) {
      call.halves[half].assign(paths.size(), std::numeric_limits<double>::infinity());
      for (std::size_t k = 0; k < right.size(); ++k) {
        std::vector<double> mine;
        for (auto j = half; j < times[k].size(); j += 2) { mine.push_back(times[k][j]); }
        call.halves[half][right[k]] = stats::summarise(mine).median;
      }
    }
  }
  return all;
}

/// The regret of a chooser, as shares of the best possible time.
struct regret {
  std::string chooser;
  double total = 0;  ///< the sum of all chosen times over the sum of all best times, less 1
  double p95 = 0;    ///< of single calls
  double max = 0;
  /// The total that a perfect chooser would show: the best path of one half against the best of
  /// the other. A total below it says nothing.
  double noise_floor = 0;

  /// `choose::by_model: regret 0.4 % (noise 0.3 %), p95 1.2 %, max 3.0 %`.
  std::string describe() const {
    std::array<char, 160> text{};
    (void)std::snprintf(text.data(), text.size(),
                        ": regret %.1f %% (noise %.1f %%), p95 %.1f %%, max %.1f %%", 100 * total,
                        100 * noise_floor, 100 * p95, 100 * max);
    return chooser + text.data();
  }
};

/// Judges a chooser by timed calls. The best path is chosen on one half of the repetitions and
/// timed on the other, so that noise cannot flatter it; both halves have both roles.
template <dispatch::chooser C>
regret judge(timed_calls const& timed, dispatch::costs const& of, C const& policy) {
  auto const pick = policy.bound(of);
  regret found{.chooser = describe(policy)};
  double chosen = 0, best = 0, least = 0;
  std::vector<double> single;
  for (auto const& call : timed.calls) {
    auto const index = pick(call.known);
    double mine = 0, its = 0;
    for (std::size_t half = 0; half < 2; ++half) {
      auto const& chooses = call.halves[half];
      auto const& times = call.halves[1 - half];
      auto const fastest = std::min_element(chooses.begin(), chooses.end()) - chooses.begin();
      mine += times[index];
      its += times[static_cast<std::size_t>(fastest)];
      least += *std::min_element(times.begin(), times.end());
    }
    chosen += mine;
    best += its;
    single.push_back(mine / its - 1);
  }
  auto const spread = [&](double share) {
    std::sort(single.begin(), single.end());
    return stats::quantile(single, share);
  };
  found.total = chosen / best - 1;
  found.p95 = spread(0.95);
  found.max = spread(1);
  found.noise_floor = best / least - 1;
  return found;
}

}  // namespace assay::measure
