// SPDX-License-Identifier: Apache-2.0
/// @file
/// `sweep`: a comparison at each of several points, with one error rate for all of them; `join`:
/// several comparisons as one, for one report.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>
#include <assay/race/space.hpp>

#include <functional>
#include <utility>
#include <vector>

namespace assay::cli {

/// A comparison and the point at which it was made: its name among others.
using named_comparison = std::pair<point, measure::comparison>;

/// Joins comparisons: the result has the variants and findings of all. Their labels begin with the
/// label of their point, and the choices of the point come first among the axes of each variant.
///
/// Each comparison must have run at its share of `alpha`; all findings together then hold at
/// `alpha`. Each variant keeps its cells; the records of epochs and analyses are dropped.
measure::comparison join(std::vector<named_comparison> const& parts, double alpha);

/// Compares the variants at a point.
using comparing_at = std::function<measure::comparison(point const&, measure::options const&)>;

/// Compares at each point and joins the results. All verdicts and simultaneous intervals together
/// hold with probability `1 - whole.alpha`.
///
/// Each cell has `alpha / points.size()` (Bonferroni) and divides it among its contrasts. Holm's
/// steps would reject a little more, but give no intervals that fit the verdicts, and need all
/// cells before the first verdict. Each cell may take its share of the time that is left of
/// `max_seconds`, and has a seed of its own that follows from `whole.seed`. A cell that fails is
/// named in the result, and the next one begins. The first exception is thrown where it refuses an
/// argument in the first cell, or no cell could be measured. After `cancelled` no other cell
/// begins.
measure::comparison sweep(std::vector<point> const& points, measure::options const& whole,
                          comparing_at const& compare);

}  // namespace assay::cli

#ifndef ASSAY_DECLARED
#include <assay/cli/sweep_definitions.hpp>
#endif
