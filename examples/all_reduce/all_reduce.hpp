// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parameters and results of the all-reduce experiment.
#pragma once

#include <assay/cli/join.hpp>
#include <assay/cli/options.hpp>
#include <assay/cli/tracing.hpp>
#include <assay/comm/algorithm.hpp>
#include <assay/comm/peers.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/trace/model.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// The parameters of the experiment beside those that all experiments have.
struct all_reduce_parameters {
  std::vector<std::size_t> sizes;  ///< sizes of the table, in bytes of a rank
  std::string type = "float", operation = "sum";
  int iterations = 20, warm_up = 1, check = 1, graphs = 0;
  comm::algorithm algorithm = comm::algorithm::automatic;
  int blocks = 0;
  bool nccl = true, windows = false;
  std::vector<std::size_t> compared;  ///< sizes at which strategies are compared
  std::size_t sweep = 0;              ///< size at which busbw is told by the number of SMs
};

/// Bus bandwidth of an all-reduce that takes so long, in 10^9 bytes a second.
inline double bus_gigabytes(double bytes, double seconds, int ranks) {
  return seconds > 0 ? comm::bus_bytes(bytes, ranks) / seconds * 1e-9 : 0;
}

/// One placement of one size: its time, and the wrong elements where they were checked.
struct placement_result {
  double seconds = std::numeric_limits<double>::quiet_NaN();  ///< per operation
  std::optional<std::uint64_t> wrong;
};

/// One row of the table of nccl-tests.
struct all_reduce_row {
  std::size_t bytes = 0;  ///< of each rank
  std::size_t count = 0;
  placement_result out_of_place, in_place;
};

/// One engine's table.
struct all_reduce_table {
  std::string engine;
  std::vector<all_reduce_row> rows;
};

/// Busbw at one number of blocks. Each block has an SM of its own.
struct block_row {
  int blocks = 0;
  std::string stages, strategy;
  double seconds = 0, min_seconds = 0, max_seconds = 0;
  double busbw = 0;
};

using named_trace = std::pair<std::string, trace::model>;

/// A table for our engine, and for each of NCCL's modes where there is NCCL, size by size in turn.
std::vector<all_reduce_table> all_reduce_tables(all_reduce_parameters const& given,
                                                comm::peers const& peers,
                                                cli::options const& chosen);

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

/// The names of the strategies.
std::vector<std::string> all_reduce_strategies();

}  // namespace assay::examples
