// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to timed_calls.hpp: the rounds of a stream of calls.
#pragma once

#include <assay/dispatch/timed_calls.hpp>
#include <assay/dispatch/timing.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/randomised_blocks.hpp>
#include <assay/stats/summary.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace assay::dispatch {

ASSAY_INLINE std::optional<std::size_t> traced_path(costs const& of) {
  for (std::size_t p = 0; p < of.paths().size(); ++p) {
    auto const& each = of.paths()[p];
    if (each.where.device() != nullptr && each.wrong.empty()) { return p; }
  }
  return {};
}

ASSAY_INLINE timed_calls detail::time_calls(costs const& of, any_task_bench& bench,
                                            call_stream const& options, std::uint64_t seed) {
  constexpr int moments = 9, fewest = 3;   // of each half
  constexpr double enough_seconds = 0.15;  // of a call in each half
  stats::random_source random{seed};
  auto const& paths = of.paths();
  std::vector<std::size_t> right;
  for (std::size_t p = 0; p < paths.size(); ++p) {
    auto const& each = paths[p];
    bool const reaches =
        each.where.host() == nullptr || options.mixed || options.memory != memory_type::device;
    if (each.wrong.empty() && reaches) { right.push_back(p); }
  }
  std::vector<std::size_t> sizes(options.count);
  for (auto& each : sizes) { each = options.sizes.draw(random); }
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
