// SPDX-License-Identifier: Apache-2.0
/// @file
/// `time_calls`: the same calls on every path, timed and perhaps traced; how far predictions are
/// from them.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/sampling.hpp>
#include <assay/dispatch/task_bench.hpp>
#include <assay/stats/random_source.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
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
std::optional<std::size_t> traced_path(costs const& of);

namespace detail {

/// `stream_of_calls` without the type of its tasks.
struct call_stream {
  size_range sizes;
  std::size_t count;
  std::optional<memory_type> memory;
  bool mixed, any_size, means;
  std::function<traced_values(std::function<void()> const& call)> const& trace;
};

timed_calls time_calls(costs const& of, any_task_bench& bench, call_stream const& options,
                       std::uint64_t seed);

}  // namespace detail

/// Times a stream of calls on all paths of the costs, each from its begin to its end with the
/// copies that the memory of the arrays needs. A call follows one that is not timed, on the same
/// path. Holds the arrays of all calls at once. Blocks; throws as `measure::calibrate`.
template <task T>
timed_calls time_calls(costs const& of, stream_of_calls<T> const& options) {
  options.sizes.require();
  auto const seed = options.seed != 0 ? options.seed : stats::draw_seed();
  std::vector<path> paths;
  for (auto const& each : of.paths()) { paths.push_back(each.where); }
  task_bench<T> bench{std::move(paths), options.make, seed};
  detail::call_stream const stream{options.sizes,    options.count, options.memory, options.mixed,
                                   options.any_size, options.means, options.trace};
  return detail::time_calls(of, bench, stream, seed);
}

}  // namespace assay::dispatch

#ifndef ASSAY_DECLARED
#include <assay/dispatch/timed_calls_definitions.hpp>
#endif
