// SPDX-License-Identifier: Apache-2.0
/// @file
/// The findings of the overlap experiment on a device, and its files.
#pragma once

#include "options.hpp"
#include "overlap_rows.hpp"

#include <assay/machine/link_ceilings.hpp>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace assay::examples {

/// Everything that was measured beside the comparison.
struct overlap_findings {
  std::vector<overlap_row> rows;
  std::vector<sweep_cell> sweep;
  pin_costs pin;
  machine::link_ceilings ceilings;
  std::string no_timeline;  ///< why overlap is known by events only; empty where it is not
};

void print_ceilings(std::ostream& out, machine::link_ceilings const& of);

/// The files of the experiment: X.transfers.csv, X.sweep.csv, X.curves.json.
std::vector<std::filesystem::path> overlap_outputs(cli::options const& of);

void write_overlap(cli::options const& of, overlap_findings const& found);

}  // namespace assay::examples
