// SPDX-License-Identifier: Apache-2.0
/// @file
/// `side_stream`: work of a step beside the rest of it, also in a capture.
#pragma once

#include <assay/core/device.hpp>
#include <assay/core/stream.hpp>

namespace assay::nn {

/// A stream beside another, on the device that is current. A stream capture of the other holds
/// both.
class side_stream {
 public:
  /// The stream, which waits for what the other has so far.
  ::cuda::stream_ref behind(::cuda::stream_ref other) {
    begun_.record(other);
    check(cudaStreamWaitEvent(own_.get(), begun_.get(), 0));
    return own_;
  }
  /// The other stream waits for all of this one.
  void join(::cuda::stream_ref other) {
    done_.record(own_);
    check(cudaStreamWaitEvent(other.get(), done_.get(), 0));
  }

 private:
  stream own_{current_device()};
  event begun_, done_;
};

}  // namespace assay::nn
