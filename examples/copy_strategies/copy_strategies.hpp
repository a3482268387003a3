// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parameters and results of the copy-strategy experiment, and its half on a GPU.
#pragma once

#include "littles_law.hpp"

#include <assay/cli/options.hpp>
#include <assay/cli/variants.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::examples {

/// The parameters of the experiment beside those that all experiments have.
struct copy_parameters {
  std::int64_t bytes = 0;  ///< what a workload reads
  std::vector<int> sms;    ///< one block on each; 0: all SMs, full
  std::vector<std::string> workloads;
  std::vector<std::int64_t> row_bytes;  ///< of gathers
};

/// One workload on some SMs with one strategy: the measured rate, and the prediction of Little's
/// law.
struct copy_row {
  std::string workload, strategy;
  int sms = 0;
  bool capped = true;    ///< one block on each SM; false: as many as are resident
  double in_flight = 0;  ///< bytes on the whole device, at most
  double predicted = 0;  ///< bytes per second, read and written, at most
  examples::little_bound bound = examples::little_bound::latency;  ///< of `predicted`
  double measured = 0;
  double limit = 0;  ///< the memory's rate for this mix of reads and writes
};

/// Predicts the rate of a row from its bytes in flight and its limit. For each byte read, `mix`
/// bytes are moved, since writes come beside. `random`: the row reads at random addresses.
inline void predict(copy_row& row, examples::little_terms const& terms, double mix, bool random) {
  auto const read = random ? terms.predicted_random(row.in_flight, row.sms)
                           : terms.predicted(row.in_flight, row.sms);
  row.predicted = std::min(row.limit, read.bytes_per_second * mix);
  row.bound = row.predicted < row.limit ? read.by : examples::little_bound::memory;
}

/// One workload on some SMs, with the strategies that are compared.
struct copy_cell {
  std::string name;  ///< "transpose, 8 SMs"
  cli::variants all;
};

/// The results of the half on a GPU.
struct copy_results {
  int device_sms = 0;
  examples::little_terms terms;
  std::vector<copy_row> rows;
  std::vector<copy_cell> cells;
  std::vector<std::string> left_out;  ///< strategies that could not run, with the reason
};

/// The names of the strategies of the rows.
std::vector<std::string> copy_strategy_names();

/// Measures every row, and prepares every cell.
copy_results copy_on_device(copy_parameters const& given, cli::options const& chosen);

}  // namespace assay::examples
