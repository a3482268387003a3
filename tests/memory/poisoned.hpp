// SPDX-License-Identifier: Apache-2.0
/// @file
/// `poisoned`: fills new blocks with a pattern, so that tests see a read before the first write.
#pragma once

#include <assay/core/place.hpp>
#include <assay/memory/request.hpp>

#include <cstddef>
#include <cstring>
#include <utility>

namespace assay::test {

/// Sets bytes in the order of a stream. `poisoned_cuda.hpp` has an overload for CUDA.
inline void fill(host_stream, void* block, unsigned char value, std::size_t bytes) {
  std::memset(block, value, bytes);
}

/// Fills each new block in the order of its stream: NaN as a float, -1 as an integer.
template <class R>
class poisoned_resource : public mr::adaptor_calls<poisoned_resource<R>, R> {
 public:
  static constexpr unsigned char pattern = 0xFF;

  explicit poisoned_resource(R upstream) : upstream_(std::move(upstream)) {}

  template <class Stream>
  void* allocate(Stream stream, std::size_t bytes, std::size_t alignment = mr::default_alignment) {
    void* const block = upstream_.allocate(stream, bytes, alignment);
    if (bytes == 0) { return block; }
    try {
      fill(stream, block, pattern, bytes);
    } catch (...) {
      upstream_.deallocate(stream, block, bytes, alignment);
      throw;
    }
    return block;
  }
  template <class Stream>
  void deallocate(Stream stream, void* block, std::size_t bytes,
                  std::size_t alignment = mr::default_alignment) noexcept {
    upstream_.deallocate(stream, block, bytes, alignment);
  }

  auto stats() const
  requires requires(R const& r) { r.stats(); }
  {
    return upstream_.stats();
  }

  R& upstream() noexcept { return upstream_; }
  R const& upstream() const noexcept { return upstream_; }
  bool operator==(poisoned_resource const&) const = default;

 private:
  R upstream_;
};

/// The resource of `upstream`, with poisoned blocks.
template <class Policy>
struct poisoned {
  Policy upstream{};

  static constexpr std::string_view name = "test::poisoned";
  std::string describe() const {
    return parameter_list{}.show(assay::describe(upstream)).after(name);
  }
  template <class Place>
  requires memory_policy<Policy, Place>
  auto open(Place place) const {
    return poisoned_resource<resource_of<Policy, Place>>{upstream.open(place)};
  }
  bool operator==(poisoned const&) const = default;
};
template <class Policy>
poisoned(Policy) -> poisoned<Policy>;

}  // namespace assay::test
