// SPDX-License-Identifier: Apache-2.0
/// @file
/// `sm_clock_probe`: how fast the SMs ran between two points of a stream.
#pragma once

#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>

#include <memory>

namespace assay::machine {

struct clock_sample;

/// Samples the clock of every SM before and after a piece of work, with two small kernels and no
/// synchronisation. The mean SM clock tells a slower program from a slower card. The samples are in
/// pinned memory, which `hertz` reads.
class sm_clock_probe {
 public:
  explicit sm_clock_probe(on::device place);

  /// Enqueues the first sample; waits for the last `end` first, if its samples are still to come.
  void begin(::cuda::stream_ref on);

  /// Enqueues the second sample.
  void end(::cuda::stream_ref on);

  /// Cycles per second between the samples, the mean over the SMs that have both; waits for the
  /// second. NaN if the span is below 100 us: the timer steps by 1 us on some GPUs, so the error
  /// could exceed 1 %.
  double hertz() const;

 private:
  on::device place_;
  unsigned slots_;
  page_locked_block block_;
  clock_sample* samples_;  ///< a sample for each SM, then those after
  std::unique_ptr<event> done_;
};

}  // namespace assay::machine

#ifndef ASSAY_COMPILED
#include <assay/machine/clock_probe_definitions.cuh>
#endif
