// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to mr::pool: blocks for alignments that size classes do not have.
#pragma once

#include <assay/pool/size_class.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <unordered_map>

namespace assay::mr {

/// Cuts aligned pointers out of larger blocks of `Core`, and finds the blocks again. Safe for
/// concurrent use.
template <class Core>
class over_aligned {
 public:
  using stream_type = typename Core::stream_type;

  /// For an alignment that is a power of two. Null for zero bytes; throws what `Core` throws.
  void* allocate(Core& from, stream_type stream, std::size_t bytes, std::size_t alignment) {
    if (bytes == 0) { return nullptr; }
    auto const whole = whole_bytes(bytes, alignment);
    void* const block = from.allocate(stream, whole);
    auto const first = reinterpret_cast<std::uintptr_t>(block);
    auto const mask = std::uintptr_t{alignment - 1};
    auto* const aligned = reinterpret_cast<void*>((first + mask) & ~mask);
    try {
      std::lock_guard const lock{mutex_};
      block_of_[aligned] = block;
    } catch (std::bad_alloc const&) {
      from.deallocate(stream, block, whole);
      throw;
    }
    return aligned;
  }
  void deallocate(Core& to, stream_type stream, void* aligned, std::size_t bytes,
                  std::size_t alignment) noexcept {
    if (aligned == nullptr) { return; }
    void* block = nullptr;
    {
      std::lock_guard const lock{mutex_};
      auto const at = block_of_.find(aligned);
      if (at == block_of_.end()) { return; }  // no block of this one
      block = at->second;
      block_of_.erase(at);
    }
    to.deallocate(stream, block, whole_bytes(bytes, alignment));
  }

 private:
  /// Sizes that no block has become the largest number, which the pool refuses.
  static std::size_t whole_bytes(std::size_t bytes, std::size_t alignment) noexcept {
    auto const more = alignment - size_class::granule;
    auto const most = std::numeric_limits<std::size_t>::max();
    return bytes > most - more ? most : bytes + more;
  }

  std::mutex mutex_;
  std::unordered_map<void*, void*> block_of_;
};

}  // namespace assay::mr
