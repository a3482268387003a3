// SPDX-License-Identifier: Apache-2.0
/// @file
/// `time_calls`: the same calls on every path, timed and perhaps traced; how far predictions are
/// from them.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/sampling.hpp>
#include <assay/dispatch/task_bench.hpp>
#include <assay/dispatch/timing.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/randomised_blocks.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::dispatch {

/// What a trace of one call shows, by names such as `kernels_seconds`.
using traced_values = std::vector<std::pair<std::string, double>>;

/// Times of the same calls on every path. Repetitions of a call are spread over the time of all
/// calls, since a machine may be slower for seconds. Each half has the medians, or the means, of
/// one half of them, one half after the other.
struct timed_calls {
  struct call {
    facts known;
    std::array<std::vector<double>, 2> halves{};  ///< seconds by path; infinite for impossible ones
    traced_values traced{};                       ///< of one more call, on `traced_path`
  };
  std::vector<call> calls;
};

/// The calls of `time_calls`: `count` sizes, all octaves as likely.
template <task T>
struct stream_of_calls {
  size_range sizes;
  std::size_t count = 200;
  std::function<T(setup& arrays, std::size_t size)> make;
  std::uint64_t seed = 0;  ///< 0 draws one
  /// The memory of all arrays. Host paths are impossible for arrays in device memory. Without a
  /// type, each path has the arrays in memory of its own, and calls need no copies.
  std::optional<memory_type> memory = memory_type::pageable;
  /// True: each array is drawn anew for each call. It lies in page-locked memory, in pageable
  /// memory, or in memory of each path itself, and `memory` does not count.
  bool mixed = false;
  /// True: `make` may return tasks of other sizes, such as of other shapes.
  bool any_size = false;
  /// True: halves have means in place of medians, which hide others that delay one call in four.
  bool means = false;
  /// Traces a call on `traced_path` after it was timed. It may run the call several times.
  std::function<traced_values(std::function<void()> const& call)> trace{};
};

/// The number of the traced path: the first on a device with right results.
inline std::optional<std::size_t> traced_path(costs const& of) {
  for (std::size_t p = 0; p < of.paths().size(); ++p) {
    auto const& each = of.paths()[p];
    if (each.where.device() != nullptr && each.wrong.empty()) { return p; }
  }
  return {};
}

/// Times a stream of calls on all paths of the costs, each from its begin to its end with the
/// copies that the memory of the arrays needs. A call follows one that is not timed, on the same
/// path. Holds the arrays of all calls at once. Blocks; throws as `measure::calibrate`.
template <task T>
timed_calls time_calls(costs const& of, stream_of_calls<T> const& options) {
  constexpr int moments = 9, fewest = 3;   // of each half
  constexpr double enough_seconds = 0.15;  // of a call in each half
  options.sizes.require();
  auto const seed = options.seed != 0 ? options.seed : stats::draw_seed();
  stats::random_source random{seed};
  std::vector<path> paths;
  std::vector<std::size_t> right;
  for (auto const& each : of.paths()) {
    bool const reaches =
        each.where.host() == nullptr || options.mixed || options.memory != memory_type::device;
    if (each.wrong.empty() && reaches) { right.push_back(paths.size()); }
    paths.push_back(each.where);
  }
  std::vector<std::size_t> sizes(options.count);
  for (auto& each : sizes) { each = options.sizes.draw(random); }
  task_bench<T> bench{paths, options.make, seed};
  if (options.mixed) {
    bench.mix();
  } else {
    bench.lie_in(options.memory.value_or(memory_type::device));
  }
  if (options.any_size) { bench.take_any_size(); }
  timed_calls all;
  std::vector<std::vector<int>> groups;
  for (auto const size : sizes) {
    bench.open(size);
    auto& call = all.calls.emplace_back(timed_calls::call{bench.known()});
    if (options.mixed || !options.memory) { forget_resident_arrays(call.known); }
    call.halves.fill(std::vector<double>(paths.size(), std::numeric_limits<double>::infinity()));
    groups.push_back(detail::group_sizes(bench, right));
  }
  for (std::size_t half = 0; half < 2; ++half) {
    std::vector<std::vector<std::vector<double>>> times(
        sizes.size(), std::vector<std::vector<double>>(right.size()));
    std::vector<double> used(sizes.size());
    for (int moment = 0; moment < moments; ++moment) {
      for (auto const i : stats::draw_order(sizes.size(), random)) {
        if (moment >= fewest && used[i] > enough_seconds) { continue; }
        double const begin = bench.now();
        bench.open_again(i);
        auto const some =
            detail::interleaved(bench, right, groups[i], 3, detail::moment_seconds, random);
        for (std::size_t k = 0; k < right.size(); ++k) {
          times[i][k].insert(times[i][k].end(), some[k].begin(), some[k].end());
        }
        used[i] += bench.now() - begin;
      }
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (std::size_t k = 0; k < right.size(); ++k) {
        all.calls[i].halves[half][right[k]] =
            options.means ? stats::mean(times[i][k]) : stats::summarise(times[i][k]).median;
      }
    }
  }
  auto const traced = traced_path(of);
  for (std::size_t i = 0; options.trace && traced && i < sizes.size(); ++i) {
    bench.open_again(i);
    (void)bench.seconds(*traced, 3);  // after its own, as timed calls are
    all.calls[i].traced = options.trace([&] { (void)bench.seconds(*traced, 1); });
  }
  return all;
}

}  // namespace assay::dispatch
