// SPDX-License-Identifier: Apache-2.0
// Replaces the global `operator new`, so that a test can have a thread run out of host memory. To
// be included by one file of a test alone.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace assay::test {

/// The allocations that succeed on this thread before one fails, once; below 0 none fails.
inline thread_local long allocations_until_failure = -1;

}  // namespace assay::test

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  auto& left = assay::test::allocations_until_failure;
  if (left >= 0 && left-- == 0) { throw std::bad_alloc{}; }
  if (void* const block = std::malloc(bytes)) { return block; }
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
