// SPDX-License-Identifier: Apache-2.0
/// @file
/// `calibrate`: measures a task on several paths.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/dispatch/sampling.hpp>
#include <assay/dispatch/task.hpp>
#include <assay/dispatch/task_bench.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/stats/random_source.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace assay::measure {

/// The options of `calibrate`. `make(arrays, size)` returns a task of that size. It makes the
/// arrays of the task by `arrays`, and may declare right results by `arrays.expect`. Without
/// `expect` the results of `host{1}` are the reference of all paths. The time of `make` is part of
/// the budget, and of no measured time.
template <dispatch::task T>
struct calibration {
  dispatch::size_range sizes;
  double budget_seconds = 5;
  std::function<T(setup& arrays, std::size_t size)> make;
  std::uint64_t seed = 0;  ///< 0 draws one
  /// Called before each size with the share of the budget that is used. An exception of it ends the
  /// calibration.
  std::function<void(double used, std::size_t next_size)> progress{};
};

/// Measures the time that `host::parallel_for` takes to begin and end an empty loop on `threads`
/// threads.
inline dispatch::fork measure_fork(int threads) {
  using clock = std::chrono::steady_clock;
  constexpr int loops = 10;
  std::vector<double> times;
  for (int group = 0; group < 12; ++group) {
    auto const begin = clock::now();
    for (int i = 0; i < loops; ++i) {
      host::parallel_for(threads, threads, 1, [](std::int64_t, std::int64_t) {});
    }
    times.push_back(std::chrono::duration<double>(clock::now() - begin).count() / loops);
  }
  times.erase(times.begin());  // it started the threads
  auto const found = dispatch::detail::summarised(1, times);
  double const factor = std::exp2(found.spread);
  return {threads, {found.seconds, found.seconds / factor, found.seconds * factor}};
}

/// Measures a task on its paths. Blocks for about `budget_seconds`, and once in a process for at
/// most 0.5 s more, in which the links of the device are measured.
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
  auto const here = machine::host_environment({}, {});
  dispatch::measurements found{.task = std::string{T::name},
                               .paths = {},
                               .cpu = here.host_cpu,
                               .compiler = here.compiler,
                               .started_at = here.started_at,
                               .cores = here.host_threads,
                               .seed = seed};
  if constexpr (dispatch::has_library<T>) { found.library = T::library(); }
  bench.describe(found);
  for (auto const& each : paths) {
    found.paths.push_back({.where = each});
    if (each.host() != nullptr && each.host()->threads > 1) {
      found.machine.forks.push_back(measure_fork(each.host()->threads));
    }
  }
  return dispatch::calibrate_on(bench, std::move(found), options);
}

}  // namespace assay::measure
