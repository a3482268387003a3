// SPDX-License-Identifier: Apache-2.0
/// @file
/// Owned memory outside of any memory resource: on a device, and page-locked on the host.
#pragma once

#include <assay/core/device.hpp>
#include <assay/core/nvtx_range.hpp>

#include <cstddef>
#include <memory>

namespace assay {

/// Memory of one device, by `cudaMalloc`.
class device_block {
 public:
  device_block(on::device place, std::size_t bytes) {
    nvtx_range const here{"device_block allocate", category::allocation, bytes};
    device_guard const guard{place};
    void* block = nullptr;
    check(cudaMalloc(&block, bytes));
    data_.reset(block);
  }
  void* get() const noexcept { return data_.get(); }
  /// The memory, which the caller then frees.
  void* release() noexcept { return data_.release(); }

 private:
  struct give_back {
    void operator()(void* block) const noexcept {
      nvtx_range const here{"device_block deallocate", category::allocation};
      relaxed_capture_guard const relaxed;
      check_noexcept(cudaFree(block));
    }
  };
  std::unique_ptr<void, give_back> data_;
};

/// Page-locked host memory, which all devices reach at the same address.
class page_locked_block {
 public:
  explicit page_locked_block(std::size_t bytes) {
    nvtx_range const here{"page_locked_block allocate", category::allocation, bytes};
    void* block = nullptr;
    check(cudaHostAlloc(&block, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
    data_.reset(block);
  }
  void* get() const noexcept { return data_.get(); }

 private:
  struct release {
    void operator()(void* block) const noexcept {
      nvtx_range const here{"page_locked_block deallocate", category::allocation};
      relaxed_capture_guard const relaxed;
      check_noexcept(cudaFreeHost(block));
    }
  };
  std::unique_ptr<void, release> data_;
};

}  // namespace assay
