// SPDX-License-Identifier: Apache-2.0
/// @file
/// Host arrays of each kind of memory, at odd addresses, for tests of transfers on a GPU.
#pragma once

#include <assay/core/error.hpp>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace assay::test {

enum class held { pageable, pinned, registered, managed };

/// `bytes` bytes of one kind of memory, beginning `offset` bytes after a page.
class host_bytes {
 public:
  host_bytes(held kind, std::size_t bytes, std::size_t offset)
      : kind_(kind), bytes_(bytes), offset_(offset) {
    constexpr std::size_t page = 4096;
    auto const room = (bytes + offset + page) / page * page;
    if (kind == held::pinned) {
      check(cudaHostAlloc(&block_, room, cudaHostAllocDefault));
    } else if (kind == held::managed) {
      check(cudaMallocManaged(&block_, room, cudaMemAttachGlobal));
    } else {
      block_ = std::aligned_alloc(page, room);
      if (kind == held::registered) {
        check(cudaHostRegister(block_, room, cudaHostRegisterDefault));
      }
    }
    std::memset(block_, 0x55, room);
  }
  host_bytes(host_bytes const&) = delete;
  host_bytes& operator=(host_bytes const&) = delete;
  ~host_bytes() {
    if (kind_ == held::pinned) {
      check_noexcept(cudaFreeHost(block_));
    } else if (kind_ == held::managed) {
      check_noexcept(cudaFree(block_));
    } else {
      if (kind_ == held::registered) { check_noexcept(cudaHostUnregister(block_)); }
      std::free(block_);
    }
  }

  std::byte* get() const noexcept { return static_cast<std::byte*>(block_) + offset_; }
  std::size_t size() const noexcept { return bytes_; }
  void fill(int value) const { std::memset(get(), value, bytes_); }
  /// True if the byte after the array is as it was.
  bool guarded() const noexcept { return get()[bytes_] == std::byte{0x55}; }

 private:
  held kind_;
  std::size_t bytes_, offset_;
  void* block_ = nullptr;
};

}  // namespace assay::test
