// SPDX-License-Identifier: Apache-2.0
/// @file
/// Device memory that belongs to a prepared state.
#pragma once

#include <assay/core/error.hpp>
#include <assay/core/range.hpp>
#include <assay/workload/columns.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace assay::workloads {

/// Device memory that stays, on the device that is current at construction. It begins at a random
/// multiple of 256 bytes within a larger allocation, so that what placement does to a kernel's time
/// averages out over states instead of sticking to a variant.
template <class T>
class resident {
 public:
  explicit resident(std::size_t count) {
    static std::atomic<std::uint64_t> made{0};
    auto const padding = (random_at(0, made++) % 4096 + 1) * 256;
    range const here{"resident allocate", category::allocation, padding + count * sizeof(T)};
    void* base = nullptr;
    check(cudaMalloc(&base, padding + count * sizeof(T)));
    base_ = static_cast<std::byte*>(base);
    first_ = reinterpret_cast<T*>(base_ + padding);
  }
  resident(resident&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), first_(std::exchange(other.first_, nullptr)) {}
  resident& operator=(resident&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(first_, other.first_);
    return *this;
  }
  ~resident() {
    if (base_ == nullptr) { return; }
    range const here{"resident deallocate", category::allocation};
    check_noexcept(cudaFree(base_));
  }

  T* get() const noexcept { return first_; }

 private:
  std::byte* base_ = nullptr;
  T* first_ = nullptr;
};

}  // namespace assay::workloads
