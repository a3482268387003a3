// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to callable.hpp: the places of callables, and what is refused.
#pragma once

#include <assay/callables/callable.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

namespace assay::callables::detail {

/// Memory for one callable at a random place in a block. Destroys the callable.
class random_place {
 public:
  random_place(callable_type const& of, std::uint64_t random_bits)
      : alignment_{std::max(of.alignment, alignof(std::max_align_t))} {
    auto const spread = std::max<std::size_t>(4096, 4 * of.alignment);  // a page
    block_ = static_cast<std::byte*>(::operator new(of.bytes + spread, alignment_));
    callable = block_ + random_bits % (spread / of.alignment) * of.alignment;
  }
  random_place(random_place const&) = delete;
  random_place& operator=(random_place const&) = delete;
  ~random_place() {
    if (destroy != nullptr) { destroy(callable); }
    ::operator delete(block_, alignment_);
  }

  void* callable;
  void (*destroy)(void*) noexcept = nullptr;  ///< null until there is a callable

 private:
  std::align_val_t alignment_;
  std::byte* block_;
};

ASSAY_INLINE std::shared_ptr<void> placed(callable_type const& of, void* from,
                                          std::uint64_t random_bits) {
  std::shared_ptr<random_place> const owner{new random_place{of, random_bits}};
  of.move(owner->callable, from);
  owner->destroy = of.destroy;
  return {owner, owner->callable};
}
ASSAY_INLINE std::shared_ptr<void> placed_copy(callable_type const& of, void const* from,
                                               std::uint64_t random_bits) {
  std::shared_ptr<random_place> const owner{new random_place{of, random_bits}};
  of.copy(owner->callable, from);
  owner->destroy = of.destroy;
  return {owner, owner->callable};
}
ASSAY_INLINE void refuse_null_callable(std::string const& label) {
  throw std::invalid_argument("\"" + label + "\" is a null callable: pass a function to time");
}
ASSAY_INLINE void refuse_null_work() {
  throw std::invalid_argument("its factory returned a null callable");
}

}  // namespace assay::callables::detail
