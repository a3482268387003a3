// SPDX-License-Identifier: Apache-2.0
/// @file
/// `device_barrier`: how the streams of several ranks begin together, and how a rank waits for its
/// own.
#pragma once

#include <assay/core/requirements.hpp>

#include <chrono>
#include <functional>
#include <string>

struct CUstream_st;

namespace assay {

/// A barrier on the streams of all ranks. `comm::nccl::barrier` makes one.
struct device_barrier {
  std::string name{};  ///< for reports: "NCCL"
  /// Enqueues the barrier: later work of the stream begins when all ranks have come to it.
  std::function<void(CUstream_st*)> enqueue{};
  /// Waits for the stream for at most this long, and throws where another rank is missing.
  std::function<void(CUstream_st*, std::chrono::duration<double>)> synchronize{};
};

}  // namespace assay
