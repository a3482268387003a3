// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parameters and results of the overlap experiment, and its half on a GPU.
#pragma once

#include "link_ceilings.hpp"

#include <assay/cli/options.hpp>
#include <assay/cli/tracing.hpp>
#include <assay/cli/variants.hpp>
#include <assay/transfer/mapped.hpp>
#include <assay/transfer/overlapped.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/staged.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace assay::examples {

/// The parameters of the experiment beside those that all experiments have.
struct overlap_parameters {
  std::size_t max_bytes = 0;      ///< the largest size each way; the smallest is 1 MiB
  std::size_t compare_bytes = 0;  ///< of the verdicts
  int flops = 2;                  ///< for each element of 4 bytes
  int repetitions = 7;
};

/// One transfer at one size: medians, in seconds.
struct overlap_row {
  std::string transfer;
  double bytes = 0;  ///< each way
  double seconds = 0;
  double link_seconds = 0;    ///< both ways at once
  double kernel_seconds = 0;  ///< alone, on the device
  double serial_seconds = 0;  ///< one after another, page-locked
  /// The share of the working time in which two or three stages worked; NaN: not traced.
  double overlap = std::numeric_limits<double>::quiet_NaN();
  std::size_t chunks = 1;
  double chunk_seconds = 0;  ///< each chunk costs the link so much beside its bytes
  std::string why;           ///< the picked chunks and the reason

  double bound_seconds() const noexcept { return std::max(link_seconds, kernel_seconds); }
  double share() const noexcept { return bound_seconds() / seconds; }
};

/// Calls `visit` with each transfer of the experiment.
template <class Visit>
void each_transfer(Visit const& visit) {
  visit(transfer::overlapped{});
  visit(transfer::pinned{});
  visit(transfer::mapped{});
  visit(transfer::staged{});
  visit(transfer::pageable{});
}

/// Every transfer at every size.
std::vector<overlap_row> overlap_rows(overlap_parameters const& given, on::device place,
                                      cli::tracing const& by, cli::options const& chosen);

/// The transfers as pipelines of one workload, the fastest of `rows` first. A batch is one job, as
/// a hundred jobs over pageable memory would take minutes.
cli::variants overlap_variants(overlap_parameters const& given, on::device place,
                               std::vector<overlap_row> const& rows);

}  // namespace assay::examples
