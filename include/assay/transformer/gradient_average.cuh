// SPDX-License-Identifier: Apache-2.0
/// @file
/// `gradient_average`: the gradients of a step on a device, averaged over the ranks of a
/// collective.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/kernel_attributes.cuh>
#include <assay/nn/adamw.cuh>
#include <assay/transformer/data_parallel.hpp>
#include <assay/transformer/side_stream.hpp>

#include <cuda_bf16.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace assay::nn {

/// The way of gradients between the ranks of a step.
struct gradient_exchange {
  std::size_t bucket = std::size_t{25} << 18U;  ///< gradients of a bucket or more: 25 MiB
  bool overlapped = true;                       ///< beside the backward pass
  bool narrow = false;                          ///< in bfloat16; AdamW reads float32 all the same
};

/// Averages the buckets of a decoder over all ranks, for passes on one stream of this rank. A
/// stream capture holds it after a first step. `by` has to outlive it.
template <comm::collective<float> Collective>
requires comm::collective<Collective, __nv_bfloat16>
class gradient_average {
 public:
  gradient_average(Collective const& by, decoder const& model, gradient_exchange how,
                   ::cuda::stream_ref stream)
      : by_(by), buckets_(gradient_buckets(model, how.bucket)), stream_(stream) {
    device_guard const guard{by.device()};
    if (how.overlapped) {
      side_.emplace();
      done_.resize(buckets_.size());
    }
    if (how.narrow) {
      narrow_.emplace(by.device(), static_cast<std::size_t>(model.parameters()) * sizeof(bfloat16));
      // Loads the kernels now: later, a load could wait behind a rank that waits for this one.
      (void)kernel::kernel_attributes(kernels::copy_elements<float*, bfloat16*>, by.device());
      (void)kernel::kernel_attributes(kernels::copy_elements<bfloat16*, float*>, by.device());
    }
  }

  std::vector<gradient_bucket> const& buckets() const { return buckets_; }

  void begin(gradient_bucket const& which, std::span<float> gradients) {
    auto const on = side_ ? side_->behind(stream_) : stream_;
    if (narrow_) {
      std::span const copy{static_cast<bfloat16*>(narrow_->get()) + which.offset, which.count};
      auto* const wire = reinterpret_cast<__nv_bfloat16*>(copy.data());
      enqueue_copy(on, gradients, copy);
      by_.enqueue(on, static_cast<__nv_bfloat16 const*>(wire), wire, copy.size(),
                  comm::reduction::average);
      enqueue_copy(on, copy, gradients);
    } else {
      by_.enqueue(on, static_cast<float const*>(gradients.data()), gradients.data(),
                  gradients.size(), comm::reduction::average);
    }
    if (side_) { done_of(which).record(on); }
  }
  void wait(gradient_bucket const& which) {
    if (side_) { check(cudaStreamWaitEvent(stream_.get(), done_of(which).get(), 0)); }
  }

 private:
  event& done_of(gradient_bucket const& which) {
    return done_[static_cast<std::size_t>(&which - buckets_.data())];
  }

  Collective const& by_;
  std::vector<gradient_bucket> buckets_;
  ::cuda::stream_ref stream_;
  std::optional<side_stream> side_;
  std::vector<event> done_;             ///< of each bucket
  std::optional<device_block> narrow_;  ///< all gradients in bfloat16
};

}  // namespace assay::nn
