// SPDX-License-Identifier: Apache-2.0
/// @file
/// The measurements of the overlap experiment, and its findings: the limit of each row, the sizes
/// from which a transfer pays, and tables, CSV and JSON.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/report/document.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace assay::examples {

/// One transfer at one size: medians, in seconds.
struct overlap_row {
  std::string transfer;
  double bytes = 0;  ///< each way
  double seconds = 0, min_seconds = 0, max_seconds = 0;
  double link_seconds = 0;                                    ///< both ways at once
  double kernel_seconds = 0;                                  ///< alone, on the device
  double serial_seconds = 0;                                  ///< one after another, page-locked
  double overlap = std::numeric_limits<double>::quiet_NaN();  ///< of the stages; NaN: no copies
  /// By the timeline of a traced run, and by the events of that same run; NaN: not traced.
  double timeline_overlap = std::numeric_limits<double>::quiet_NaN();
  double traced_overlap = std::numeric_limits<double>::quiet_NaN();
  std::size_t chunks = 1;
  double chunk_seconds = 0;      ///< each chunk costs the link so much beside its bytes
  double predicted_seconds = 0;  ///< by the model, 0 where there is none
  std::string why;               ///< the picked chunks and the reason

  double bound_seconds() const noexcept { return std::max(link_seconds, kernel_seconds); }
  double share() const noexcept { return bound_seconds() / seconds; }
  /// The share of time by which events show more overlap than the timeline; NaN where one of them
  /// is not known.
  double overlap_difference() const noexcept { return traced_overlap - timeline_overlap; }
};

/// One choice of chunks and streams at one size.
struct sweep_cell {
  double bytes = 0;
  int chunks = 1, streams = 1;
  double seconds = 0, bound_seconds = 0;
  double share() const noexcept { return bound_seconds / seconds; }
};

/// The cost of page-locking, in seconds a GiB.
struct pin_costs {
  double registering = 0;  ///< `cudaHostRegister` and `cudaHostUnregister`
  double allocating = 0;   ///< `cudaMallocHost` and `cudaFreeHost`
};

/// The limit of a row, in words.
std::string limit_of(overlap_row const& row);

/// Compares the overlap by events with the overlap by the timeline of the same runs. Rows with
/// chunks below 0.3 ms are listed and not judged.
measure::answer overlap_agreement(std::vector<overlap_row> const& rows,
                                  std::string const& no_timeline);

/// The smallest measured size from which on `a` is faster than `b`; 0 where it never is.
double break_even(std::vector<overlap_row> const& rows, std::string_view a, std::string_view b);

/// The number of uses after which page-locking the arrays once has paid, if `fast` then replaces
/// `row`; 0 if it never pays.
double uses_to_pay(overlap_row const& row, overlap_row const& fast, double lock_seconds_per_gib);

/// Sentences on the sizes from which each way of using pageable memory pays.
std::vector<std::string> break_even_lines(std::vector<overlap_row> const& rows,
                                          pin_costs const& pin);

/// The rows as a table for the terminal.
void print_rows(std::ostream& out, std::vector<overlap_row> const& rows);

/// Shares of the bound by chunks and streams: a heat map in numbers, for one size.
void print_sweep(std::ostream& out, std::vector<sweep_cell> const& cells, double bytes);

/// The cell with the shortest time at a size; nothing where none was measured.
sweep_cell const* best_cell(std::vector<sweep_cell> const& cells, double bytes);

std::string rows_csv(std::vector<overlap_row> const& rows);

std::string sweep_csv(std::vector<sweep_cell> const& cells);

report::document curves_json(std::vector<overlap_row> const& rows,
                             std::vector<sweep_cell> const& cells, pin_costs const& pin);

}  // namespace assay::examples
