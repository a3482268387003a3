// SPDX-License-Identifier: Apache-2.0
/// @file
/// Device memory for tests of submission modes: one block a lane, and a note of every hold on it.
#pragma once

#include <assay/core/cccl.hpp>
#include <assay/core/place.hpp>
#include <assay/core/stream.hpp>
#include <assay/submit/lane.hpp>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace assay::test {

/// Device memory that is not for graphs.
struct one_block {
  void* block = nullptr;
  void* allocate(::cuda::stream_ref, std::size_t, std::size_t) const { return block; }
  void deallocate(::cuda::stream_ref, void*, std::size_t, std::size_t) const noexcept {}
  bool operator==(one_block const&) const = default;
};

struct hold_counts {
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  std::atomic<int> alive = 0;
};

/// The same, for graphs too.
struct capturable_block : one_block {
  hold_counts* counts = nullptr;
  bool refuse = false;

  class hold {
   public:
    explicit hold(hold_counts* counts) : counts_(counts) { ++counts_->alive; }
    hold(hold&& other) noexcept : counts_(other.counts_) { other.counts_ = nullptr; }
    hold& operator=(hold&& other) noexcept {
      std::swap(counts_, other.counts_);
      return *this;
    }
    ~hold() {
      if (counts_ != nullptr) { --counts_->alive; }
    }
    void end() noexcept { ++counts_->ended; }

   private:
    hold_counts* counts_;
  };

  hold capture(::cuda::stream_ref) const {
    if (refuse) { throw std::runtime_error("no room for a graph"); }
    ++counts->begun;
    return hold{counts};
  }
  bool operator==(capturable_block const&) const = default;
};

template <class Memory>
using device_test_lane = lane<on::device, ::cuda::stream_ref, Memory>;

}  // namespace assay::test
