// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::rmm_errors`: a resource for programs that catch RMM's exceptions. Needs RMM.
#pragma once

#include <assay/memory/request.hpp>

#include <rmm/error.hpp>

#include <cstddef>
#include <utility>

namespace assay::mr {

/// Throws `rmm::out_of_memory` where the resource throws `mr::out_of_memory`, with the same text.
/// RMM's `failure_callback_resource_adaptor`, which programs spill by, retries upon that one.
template <class R>
class rmm_errors : public adaptor_calls<rmm_errors<R>, R> {
 public:
  explicit rmm_errors(R upstream) : upstream_(std::move(upstream)) {}

  template <class Stream>
  void* allocate(Stream stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    try {
      return upstream_.allocate(stream, bytes, alignment);
    } catch (out_of_memory const& error) { throw rmm::out_of_memory(error.what()); }
  }
  template <class Stream>
  void deallocate(Stream stream, void* block, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept {
    upstream_.deallocate(stream, block, bytes, alignment);
  }

  R& upstream() noexcept { return upstream_; }
  R const& upstream() const noexcept { return upstream_; }
  bool operator==(rmm_errors const&) const = default;

 private:
  R upstream_;
};

}  // namespace assay::mr
