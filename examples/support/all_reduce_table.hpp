// SPDX-License-Identifier: Apache-2.0
/// @file
/// The table that nccl-tests prints, column for column, so that what reads one reads the other.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/report/document.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace assay::examples {

/// One placement of one size: what was timed, and how many elements were wrong where they were
/// checked.
struct placement_result {
  double seconds = std::numeric_limits<double>::quiet_NaN();  ///< per operation; NaN: not offered
  std::optional<std::uint64_t> wrong;
};

/// One row of the table.
struct all_reduce_row {
  std::size_t bytes = 0;  ///< of each rank
  std::size_t count = 0;
  std::string type, operation;
  placement_result out_of_place, in_place;

  /// Bytes of a rank over time, in 10^9 bytes a second.
  double algorithm_bandwidth(placement_result const& of) const {
    return of.seconds > 0 ? static_cast<double>(bytes) / of.seconds * 1e-9 : 0;
  }
  double bus_bandwidth(placement_result const& of, int ranks) const {
    return comm::bus_bytes(algorithm_bandwidth(of), ranks);
  }
};

/// What stands above the rows.
struct all_reduce_heading {
  struct rank_line {
    int rank = 0, process = 0;
    std::string machine;
    int device = 0, domain = 0, bus = 0, slot = 0;
    std::string name;
  };

  std::string engine;
  int threads = 1, devices = 1;
  std::size_t min_bytes = 0, max_bytes = 0, step = 2;
  bool step_is_factor = true;
  int warm_up = 1, iterations = 20, aggregated = 1, check = 1, graphs = 0;
  std::vector<rank_line> ranks;
  int other_ranks = 0;  ///< of other processes, of which there are no lines
};

/// A number in so many columns: with 2, 1 or 0 decimals, as fits.
std::string fitted(double value, int columns);

void print_heading(std::ostream& out, all_reduce_heading const& of);

/// The row without its line's end. All-reduce has no root: -1.
std::string row_text(all_reduce_row const& row, int ranks);

/// What stands below the rows, and whether all is well.
struct all_reduce_footer {
  std::uint64_t wrong = 0;
  double bus_bandwidth = 0;                 ///< the mean over rows and placements
  std::optional<double> least_bandwidth{};  ///< NCCL_TESTS_MIN_BW

  /// As nccl-tests: nothing wrong, and 90 % of the least where one is asked for.
  bool right() const noexcept { return wrong == 0; }
  bool fast() const noexcept { return !least_bandwidth || bus_bandwidth >= 0.9 * *least_bandwidth; }
};

all_reduce_footer footer_of(std::vector<all_reduce_row> const& rows, int ranks,
                            std::optional<double> least = std::nullopt);

void print_footer(std::ostream& out, all_reduce_footer const& of);

/// The least bandwidth that the environment asks for, in GB/s.
std::optional<double> least_bandwidth_of_environment();

/// One engine's table.
struct all_reduce_table {
  all_reduce_heading heading;
  int ranks = 1;
  std::vector<all_reduce_row> rows;
};

void print_table(std::ostream& out, all_reduce_table const& of);

/// All tables, one record for each engine, size and placement.
std::string tables_csv(std::vector<all_reduce_table> const& tables);

report::document tables_json(std::vector<all_reduce_table> const& tables);

/// Sizes with one engine beside the other: how much longer each takes than the first.
void print_side_by_side(std::ostream& out, std::vector<all_reduce_table> const& tables);

}  // namespace assay::examples
