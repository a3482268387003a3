// SPDX-License-Identifier: Apache-2.0
/// @file
/// `calibrate`: measures a task on several paths.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/dispatch/sampling.hpp>
#include <assay/dispatch/task.hpp>
#include <assay/dispatch/task_bench.hpp>
#include <assay/stats/random_source.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace assay::measure {

/// The options of `calibrate`. `make(arrays, size)` returns a task of that size. It makes the
/// arrays of the task by `arrays`, and may declare right results by `arrays.expect`. Without
/// `expect` the results of `host{1}` are the reference of all paths. The time of `make` is part of
/// the budget, and of no measured time.
template <dispatch::task T>
struct calibration {
  dispatch::size_range sizes;
  double budget_seconds = 2;
  std::function<T(setup& arrays, std::size_t size)> make;
  std::uint64_t seed = 0;  ///< 0 draws one
  /// Called before each new size with the share of the budget that is used, which may be above 1.
  /// An exception of it ends the calibration.
  std::function<void(double used, std::size_t next_size)> progress{};
};

/// Measures a task on its paths at twelve sizes. Blocks for about `budget_seconds`, or for as long
/// as one look at each size takes: a budget that is too small widens intervals, and is one of the
/// warnings of the result.
///
/// A timed call follows one of the same path over the same arrays. So the caches hold what that
/// call left there, and an `inout` array holds the results of the calls before. A device path is
/// timed over arrays in the memory of the device, with a wait after each call. The arrays of all
/// sizes stay until the end, and take several times the memory of the largest ones.
///
/// Throws `std::invalid_argument` for paths and options that are not possible, and if every path
/// has wrong results. Exceptions of `make`, of the task and of `progress` pass through.
template <dispatch::task T>
dispatch::costs calibrate(std::vector<dispatch::path> const& paths, calibration<T> const& options) {
  static_assert(
      !requires { &T::reference; },
      "`make` says by setup::expect what is right: no `reference` is called");
  nvtx_range const scope{"calibrate", category::measurement};
  auto const seed = options.seed != 0 ? options.seed : stats::draw_seed();
  dispatch::task_bench<T> bench{paths, options.make, seed};
  auto found = bench.described();
  if constexpr (dispatch::has_library<T>) { found.library = T::library(); }
  dispatch::sampling_options const sampling{options.sizes, options.budget_seconds,
                                            options.progress};
  return dispatch::calibrate_on(bench, std::move(found), sampling);
}

}  // namespace assay::measure
