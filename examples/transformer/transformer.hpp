// SPDX-License-Identifier: Apache-2.0
// The interface between the command line of the transformer and its kernels.
#pragma once

#include <assay/trace/table.hpp>
#include <assay/transformer/bounds.hpp>
#include <assay/transformer/decoder.hpp>
#include <assay/transformer/tokens.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace examples {

/// One combination of the choices.
struct transformer_case {
  assay::nn::problem of;
  std::string precision = "bf16";      ///< fp32, tf32, bf16
  std::string attention = "fused";     ///< naive, fused
  std::string projections = "packed";  ///< separate, packed
  std::string optimiser = "fused";     ///< fused, per_tensor, in_products
  std::string run = "step";            ///< forward, step
  std::string submission = "graph";    ///< sequential, graph
  std::string tokens = "uniform";      ///< uniform, zipf
};

/// Times in milliseconds on the device, from the begin of the first kernel to the end of the last.
struct transformer_time {
  std::size_t bytes = 0;  ///< of the memory plan
  double median_ms = 0;
  double fastest_ms = 0;
};

/// Refuses a plan beyond the free memory of device 0.
transformer_time time_of(transformer_case const& which, int repetitions);

/// The loss before each step of training by AdamW, from the weights of seed 1 on.
std::vector<float> losses_of(transformer_case const& which,
                             std::vector<assay::nn::token_batch> const& batches);

/// Compares ways to average the gradients of a step over ranks, each with its part of the batch,
/// after it has trained on these batches. `over` is `nccl`, for the ranks that a launcher started,
/// or `ours`, for the GPUs of this process. Rank 0 prints the report.
void compare_on_ranks(transformer_case const& which, std::string const& over,
                      std::vector<assay::nn::token_batch> const& batches);

/// Ceilings that were measured in the run, and the tables of answers.
struct transformer_answers {
  assay::nn::ceilings most;
  std::vector<assay::trace::table> tables;
};

/// The answers from a trace; `copy_rate` is in bytes per second.
transformer_answers answers_of(transformer_case const& which, int repetitions, double copy_rate);

/// Bytes per second of copies on device 0.
double copy_rate();

}  // namespace examples
