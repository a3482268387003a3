// SPDX-License-Identifier: Apache-2.0
/// @file
/// Device memory that belongs to a prepared state.
#pragma once

#include <assay/core/error.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/random.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace assay::examples {

/// Device memory that stays, on the device that is current at construction. The array begins at a
/// random multiple of 256 bytes within a larger allocation. The effect of placement on a kernel's
/// time so averages out over states, and does not stick to a variant.
template <class T>
class device_array {
 public:
  explicit device_array(std::size_t count) {
    static std::atomic<std::uint64_t> made{0};
    auto const padding = (random_bits(0, made++) % 4096 + 1) * 256;
    nvtx_range const here{"device_array allocate", category::allocation,
                          padding + count * sizeof(T)};
    void* base = nullptr;
    check(cudaMalloc(&base, padding + count * sizeof(T)));
    base_ = static_cast<std::byte*>(base);
    first_ = reinterpret_cast<T*>(base_ + padding);
  }
  device_array(device_array&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), first_(std::exchange(other.first_, nullptr)) {}
  device_array& operator=(device_array&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(first_, other.first_);
    return *this;
  }
  ~device_array() {
    if (base_ == nullptr) { return; }
    nvtx_range const here{"device_array deallocate", category::allocation};
    check_noexcept(cudaFree(base_));
  }

  T* get() const noexcept { return first_; }

 private:
  std::byte* base_ = nullptr;
  T* first_ = nullptr;
};

}  // namespace assay::examples
