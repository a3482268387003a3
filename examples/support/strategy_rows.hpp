// SPDX-License-Identifier: Apache-2.0
/// @file
/// The results of the strategies of an all-reduce: verdicts by size, busbw by blocks, and traced
/// launches.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/document.hpp>
#include <assay/trace/model.hpp>

#include <cstddef>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

namespace assay::examples {

/// Bus bandwidth of an all-reduce that takes so long, in 10^9 bytes a second.
inline double bus_gigabytes(double bytes, double seconds, int ranks) {
  return seconds > 0 ? comm::bus_bytes(bytes, ranks) / seconds * 1e-9 : 0;
}

/// One strategy at one size and number of stages, with its verdict against the first strategy.
struct strategy_row {
  double bytes = 0;
  std::string stages;  ///< "1" or "2"
  std::string strategy;
  double seconds = std::numeric_limits<double>::quiet_NaN();  ///< per operation, the median cell
  double busbw = 0;                                           ///< GB/s
  measure::estimate effect{};
  std::string verdict;  ///< empty for the strategy that the others are held against
};

/// Busbw at one number of blocks. Each block has an SM of its own.
struct block_row {
  int blocks = 0;
  std::string stages, strategy;
  double seconds = 0, min_seconds = 0, max_seconds = 0;
  double busbw = 0;
};

/// The launches of one variant in a trace.
struct launch_row {
  std::string variant;
  std::size_t operations = 0;  ///< of all ranks
  std::size_t kernels = 0;
  double kernel_seconds = 0;  ///< mean
  double call_seconds = 0;    ///< mean host time of the call that launched a kernel
  double gap_seconds = 0;  ///< mean from the end of a kernel to the next one's begin; < 0: overlap
  double overlapped_share = 0;  ///< the share of launches that began before the last one ended
  std::string lacks{};          ///< why there are no kernels in the trace, where there are none

  double launches() const {
    return operations == 0 ? 0 : static_cast<double>(kernels) / static_cast<double>(operations);
  }
};

/// Summarises a trace with `operations` all-reduces of each rank. All kernels of the trace belong
/// to them, and kernels of one stream follow each other.
launch_row launches_of(trace::model const& of, std::string variant, std::size_t operations);

/// Everything that was found of strategies.
struct strategy_findings {
  int ranks = 2;
  double sweep_bytes = 0;
  std::vector<strategy_row> rows;
  std::vector<block_row> blocks;
  std::vector<launch_row> launches;
};

/// Appends one comparison to another: variants and findings of both, with widened contrasts.
/// Together they hold at `into.alpha`, and each comparison used a share of it.
void append(measure::comparison& into, measure::comparison&& more);

void print_strategies(std::ostream& out, strategy_findings const& of);

void print_blocks(std::ostream& out, strategy_findings const& of);

void print_launches(std::ostream& out, strategy_findings const& of);

std::string strategies_csv(strategy_findings const& of);

std::string blocks_csv(strategy_findings const& of);

report::document strategies_json(strategy_findings const& of);

}  // namespace assay::examples
