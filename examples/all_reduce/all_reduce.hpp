// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parameters and results of the all-reduce experiment, and its half on GPUs.
#pragma once

#include <assay/cli/join.hpp>
#include <assay/cli/options.hpp>
#include <assay/cli/tracing.hpp>
#include <assay/comm/peers.hpp>
#include <assay/trace/model.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// The parameters of the experiment beside those that all experiments have.
struct all_reduce_parameters {
  std::vector<std::size_t> compared;  ///< bytes of each rank at which strategies are compared
  std::size_t sweep = 0;              ///< bytes at which the number of SMs varies
};

/// Busbw at one number of blocks. Each block has an SM of its own.
struct block_row {
  int blocks = 0;
  std::string stages, strategy;
  double seconds = 0, min_seconds = 0, max_seconds = 0;  ///< of an operation
  double busbw = 0;                                      ///< 10^9 bytes a second
};

using named_trace = std::pair<std::string, trace::model>;

/// The names of the strategies.
std::vector<std::string> all_reduce_strategies();

/// The copy strategies inside an all-reduce, at each size; `clock` decides.
std::vector<cli::named_comparison> compare_strategies(all_reduce_parameters const& given,
                                                      comm::peers const& peers,
                                                      cli::options const& chosen,
                                                      measure::clock clock);

/// Busbw at one size with every number of blocks.
std::vector<block_row> sweep_blocks(all_reduce_parameters const& given, comm::peers const& peers,
                                    cli::options const& chosen);

/// Traces of 50 operations by each strategy, launched one by one and in a graph.
std::vector<named_trace> trace_strategies(all_reduce_parameters const& given,
                                          comm::peers const& peers, cli::options const& chosen,
                                          cli::tracing const& by);

}  // namespace assay::examples
