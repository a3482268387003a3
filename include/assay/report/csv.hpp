// SPDX-License-Identifier: Apache-2.0
/// @file
/// A comparison as three CSV tables: findings, variants, and every cell. Quoting as in RFC 4180,
/// with plain line ends; a number that is not finite is an empty field.
#pragma once

#include <assay/measure/comparison.hpp>

#include <ostream>

namespace assay::report::csv {

/// One record per finding; ratios, not percentages.
void findings(std::ostream& out, measure::comparison const& all);

/// One record per variant and clock, with its profiles repeated; seconds per launch, nanoseconds
/// per item, bytes.
void variants(std::ostream& out, measure::comparison const& all);

/// One record per cell, for statistics of one's own.
void cells(std::ostream& out, measure::comparison const& all);

}  // namespace assay::report::csv

#ifndef ASSAY_DECLARED
#include <assay/report/csv_definitions.hpp>
#endif
