// SPDX-License-Identifier: Apache-2.0
/// @file
/// The results of the copy-strategy experiment: tables, CSV, JSON, and its comparisons as one.
#pragma once

#include "options.hpp"

#include <assay/machine/littles_law.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/document.hpp>

#include <filesystem>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

namespace assay::examples {

/// One workload on so many SMs with one strategy: a median, and what Little's law says of it.
struct copy_row {
  std::string workload, strategy;
  int sms = 0;  ///< each with `blocks` blocks
  int blocks = 1;
  bool capped = true;    ///< false: as many blocks as are resident; `blocks` is an upper bound then
  double in_flight = 0;  ///< bytes on the whole device, at most
  double predicted = 0;  ///< bytes per second, read and written, at most
  machine::little_bound bound = machine::little_bound::latency;  ///< what `predicted` follows from
  double measured = 0;
  double limit = 0;  ///< of the device's memory for this mix of reads and writes

  double share() const noexcept { return measured / limit; }
};

/// Predicts the rate of a row from its bytes in flight and its limit. For each byte read, `mix`
/// bytes are moved, since writes come beside. `random`: the row reads at random addresses.
void predict(copy_row& row, machine::little_terms const& terms, double mix, bool random);

/// The results of three strategies in one cell: a workload on a number of SMs.
struct copy_cell {
  std::string workload;
  std::string where;  ///< "8 SMs"
  measure::comparison found;
};

/// "8 SMs", or "all SMs full".
std::string sms_text(int sms, bool capped);

/// All comparisons as one: arms and findings after each other, named by their cells, and each
/// finding's weights over its own arms.
measure::comparison merged(std::vector<copy_cell> const& cells, std::string title);

/// The strategy of the arm that a finding holds against the first of its cell.
std::string variant_of(measure::comparison const& in, measure::finding const& found);

/// One line for each cell: what each strategy wins or loses against the first, with its interval.
std::vector<std::string> verdict_lines(std::vector<copy_cell> const& cells);

/// The cells where strategies won or lost by more than the margin, and where nothing differed.
std::vector<std::string> summary_lines(std::vector<copy_cell> const& cells);

/// What the machine's memory asks for, in words.
std::vector<std::string> little_lines(machine::little_terms const& terms, int sms);

void print_copy_rows(std::ostream& out, std::vector<copy_row> const& rows);

std::string copy_rows_csv(std::vector<copy_row> const& rows);

report::document copy_rows_json(std::vector<copy_row> const& rows,
                                machine::little_terms const& terms);

/// Files of the rows, beside those of the comparison.
std::vector<std::filesystem::path> copy_outputs(cli::options const& of);

void write_copy_rows(cli::options const& of, std::vector<copy_row> const& rows,
                     machine::little_terms const& terms);

}  // namespace assay::examples
