// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::heap`: the C++ heap, for work on the host.
#pragma once

#include <assay/memory/request.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <string_view>

namespace assay::mr {

/// Aligned `operator new` and `delete`. Stateless: all of them are equal.
struct heap_resource : synchronous_calls<heap_resource> {
  static constexpr bool host_accessible = true;
  static host_stream sync_stream() noexcept { return {}; }

  /// Throws `mr::out_of_memory`.
  void* allocate(host_stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    require_alignment(alignment, std::numeric_limits<std::uint32_t>::max());
    if (bytes == 0) { return nullptr; }
    void* const block = ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
    if (block == nullptr) {
      throw out_of_memory("mr::heap: the C++ heap has no " + describe_bytes(bytes) + " left");
    }
    return block;
  }
  void deallocate(host_stream, void* block, std::size_t /*bytes*/,
                  std::size_t alignment = default_alignment) noexcept {
    if (block != nullptr) { ::operator delete(block, std::align_val_t{alignment}); }
  }
  bool operator==(heap_resource const&) const = default;
};

/// Memory from the C++ heap.
struct heap {
  static constexpr std::string_view name = "mr::heap";
  heap_resource open(on::host) const noexcept { return {}; }
  bool operator==(heap const&) const = default;
};

static_assert(memory_resource<heap_resource, host_stream>);
static_assert(memory_policy<heap, on::host>);

}  // namespace assay::mr
