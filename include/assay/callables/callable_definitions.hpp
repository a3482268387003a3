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

/// Memory at a random place in a block, for one callable. Its owner destroys the callable.
inline std::shared_ptr<void> random_place(callable_type const& of, std::uint64_t random_bits,
                                          auto const& construct) {
  auto const spread = std::max<std::size_t>(4096, 4 * of.alignment);  // a page
  std::align_val_t const alignment{std::max(of.alignment, alignof(std::max_align_t))};
  std::shared_ptr<std::byte> const block{
      static_cast<std::byte*>(::operator new(of.bytes + spread, alignment)),
      [alignment](std::byte* memory) { ::operator delete(memory, alignment); }};
  void* const at = block.get() + random_bits % (spread / of.alignment) * of.alignment;
  construct(at);
  return {at, [block, destroy = of.destroy](void* callable) { destroy(callable); }};
}

ASSAY_INLINE std::shared_ptr<void> placed(callable_type const& of, void* from,
                                          std::uint64_t random_bits) {
  return random_place(of, random_bits, [&](void* to) { of.move(to, from); });
}
ASSAY_INLINE std::shared_ptr<void> placed_copy(callable_type const& of, void const* from,
                                               std::uint64_t random_bits) {
  return random_place(of, random_bits, [&](void* to) { of.copy(to, from); });
}
ASSAY_INLINE void refuse_null_callable(std::string const& label) {
  throw std::invalid_argument("\"" + label + "\" is a null callable: pass a function to time");
}
ASSAY_INLINE void refuse_null_work() {
  throw std::invalid_argument("its factory returned a null callable");
}

}  // namespace assay::callables::detail
