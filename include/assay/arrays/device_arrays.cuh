// SPDX-License-Identifier: Apache-2.0
/// @file
/// The arrays of a setup in the memory of a device.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/cuda_malloc.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay::arrays {

/// Arrays from `cudaMalloc`. The stream belongs to the caller and must outlive the store.
class device_array_store final : public array_store {
 public:
  device_array_store(on::device place, ::cuda::stream_ref stream, std::uint64_t placement_seed)
      : array_store(placement_seed), place_(place), stream_(stream) {}

  void fill_random(void* to, std::size_t count, any_range const& range,
                   std::uint64_t seed) override;
  void fill(void* to, unsigned char value, std::size_t bytes) override {
    device_guard const guard{place_};
    check(cudaMemsetAsync(to, value, bytes, stream_.get()));
  }
  void copy(void* to, void const* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()));
  }
  void copy_in(void* to, void const* host, std::size_t bytes) override { copy(to, host, bytes); }
  void copy_out(void* host, void const* from, std::size_t bytes) override {
    copy(host, from, bytes);
    finish();
  }
  void copy_out_pieces(void* host, void const* from, std::size_t bytes,
                       std::span<std::size_t const> offsets) override;
  void finish() override { check(cudaStreamSynchronize(stream_.get())); }
  void* stream() const noexcept override { return stream_.get(); }

 private:
  struct device_free {
    void operator()(std::byte* block) const noexcept {
      nvtx_range const here{"array deallocate", category::allocation};
      check_noexcept(cudaFree(block));
    }
  };

  std::byte* allocate_block(std::size_t bytes) override {
    device_guard const guard{place_};
    nvtx_range const here{"array allocate", category::allocation, bytes};
    void* block = nullptr;
    mr::check_allocation(cudaMalloc(&block, bytes + spread), "device " + std::to_string(place_.id),
                         bytes);
    std::unique_ptr<std::byte, device_free> owned{static_cast<std::byte*>(block)};
    blocks_.push_back(std::move(owned));
    return blocks_.back().get();
  }

  on::device place_;
  ::cuda::stream_ref stream_;
  std::vector<std::unique_ptr<std::byte, device_free>> blocks_;
  std::byte* pieces_ = nullptr;  ///< where pieces come together, in one of the blocks
  std::size_t room_ = 0;         ///< for so many bytes of them
};

}  // namespace assay::arrays

#ifndef ASSAY_COMPILED
#include <assay/arrays/device_arrays_definitions.cuh>
#endif
