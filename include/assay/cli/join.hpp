// SPDX-License-Identifier: Apache-2.0
/// @file
/// `join`: several comparisons as one, for one report.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/race/space.hpp>

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

}  // namespace assay::cli

#ifndef ASSAY_DECLARED
#include <assay/cli/join_definitions.hpp>
#endif
