// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to sweep.hpp: the definitions of its functions.
#pragma once

#include <assay/cli/join.hpp>
#include <assay/cli/join_definitions.hpp>
#include <assay/cli/sweep.hpp>
#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>
#include <assay/race/space.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::cli {

namespace detail {

/// The options of cell `i` of `count`, with `seconds` of the time limit left.
inline measure::options options_of_cell(measure::options const& whole, std::size_t i,
                                        std::size_t count, double seconds) {
  auto own = whole;
  own.alpha = whole.alpha / static_cast<double>(count);
  if (whole.seed != 0) { own.seed = stats::derive_seed(whole.seed, i) | 1U; }
  own.max_seconds = std::max(seconds / static_cast<double>(count - i), 1e-3);
  if (whole.progress) {
    auto const where =
        concat({"cell ", std::to_string(i + 1), " of ", std::to_string(count), ", "});
    own.progress = [&whole, where](int epoch, int of, std::string_view what) {
      whole.progress(epoch, of, where + std::string{what});
    };
  }
  return own;
}

inline measure::comparison joined(std::vector<named_comparison> const& parts,
                                  measure::options const& whole, std::size_t count) {
  auto all = join(parts, whole.alpha);
  all.title = whole.title;
  all.margin = whole.margin;
  all.seed = whole.seed;
  auto const cells = std::to_string(count);
  all.notes.insert(all.notes.begin(),
                   concat({cells, " cells of the sweep share alpha: each has alpha / ", cells,
                           ", so that all verdicts and intervals hold together"}));
  if (parts.size() < count) {
    all.notes.insert(all.notes.begin(),
                     concat({std::to_string(count - parts.size()), " of ", cells,
                             " cells were not measured: the sweep was cancelled"}));
    if (all.failure.empty()) { all.failure = "the sweep was cancelled"; }
  }
  return all;
}

}  // namespace detail

ASSAY_INLINE measure::comparison sweep(std::vector<point> const& points,
                                       measure::options const& whole, comparing_at const& compare) {
  using steady = std::chrono::steady_clock;
  auto const begin = steady::now();
  std::vector<named_comparison> parts;
  std::exception_ptr first_failure;
  bool measured = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i > 0 && whole.cancelled && whole.cancelled()) { break; }
    std::chrono::duration<double> const spent = steady::now() - begin;
    auto const own =
        detail::options_of_cell(whole, i, points.size(), whole.max_seconds - spent.count());
    measure::comparison found;
    try {
      found = compare(points[i], own);
      measured = true;
    } catch (std::exception const& cause) {
      // A value that the first cell refuses is most likely refused by all.
      if (i == 0 && dynamic_cast<std::invalid_argument const*>(&cause) != nullptr) { throw; }
      if (!first_failure) { first_failure = std::current_exception(); }
      found.failure = cause.what();
    }
    if (points.size() == 1 && measured) {
      for (auto& each : found.variants) { detail::add_axes(each, points[i]); }
      return found;
    }
    parts.emplace_back(points[i], std::move(found));
  }
  if (!measured && first_failure) { std::rethrow_exception(first_failure); }  // nothing is lost
  return detail::joined(parts, whole, points.size());
}

}  // namespace assay::cli
