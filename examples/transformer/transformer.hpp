// SPDX-License-Identifier: Apache-2.0
// The interface between the command line of the transformer and its kernels.
#pragma once

#include <assay/transformer/decoder.hpp>
#include <assay/transformer/ledger.hpp>
#include <assay/transformer/tokens.hpp>

#include <cstddef>
#include <functional>
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

/// What is known of a case whose repetitions were traced.
struct traced_pass {
  assay::nn::ledger ledger;
  std::vector<assay::nn::captured_node> captured;  ///< of its graph; none without one
  double product_flops_per_second = 0;             ///< of large products of its precision
  double untraced_host_ns = 0;                     ///< of a repetition, as is the next one
  double untraced_device_ns = 0;
};

/// Runs a case without a trace, and then its repetitions within `record`. Traces are recorded and
/// read by what g++ compiles: nvcc takes long over CUPTI.
traced_pass trace_pass(transformer_case const& which, int repetitions,
                       std::function<void(std::function<void()> const&)> const& record);

/// Bytes per second of copies on device 0.
double copy_rate();

}  // namespace examples
