// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::poisoned`: fills new blocks with a pattern, so that tests see a read before the first
/// write.
#pragma once

#include <assay/memory/fill.hpp>
#include <assay/memory/request.hpp>

#include <cstddef>
#include <utility>

namespace assay::mr {

/// Fills each new block in the order of its stream: NaN as a float, -1 as an integer. For CUDA
/// streams include `assay/memory/fill_cuda.hpp`.
template <class R>
class poisoned_resource : public adaptor_calls<poisoned_resource<R>, R> {
 public:
  static constexpr unsigned char pattern = 0xFF;

  explicit poisoned_resource(R upstream) : upstream_(std::move(upstream)) {}

  template <class Stream>
  void* allocate(Stream stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    void* const block = upstream_.allocate(stream, bytes, alignment);
    if (bytes == 0) { return block; }
    try {
      fill<Stream>{}(stream, block, pattern, bytes);
    } catch (...) {
      upstream_.deallocate(stream, block, bytes, alignment);
      throw;
    }
    return block;
  }
  template <class Stream>
  void deallocate(Stream stream, void* block, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept {
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

  static constexpr std::string_view name = "mr::poisoned";
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

}  // namespace assay::mr
