// assay-grouped: no, since it replaces operator new
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Enqueueing allocates no host memory, once a combination of kernel and shape has run.

#include "comm/world.cuh"

#include <cstddef>
#include <cstdlib>
#include <new>

using namespace assay;

namespace {

thread_local bool counting = false;
thread_local int counted = 0;

/// The allocations of `call` on this thread.
template <class Call>
int allocations_of(Call const& call) {
  counted = 0;
  counting = true;
  call();
  counting = false;
  return counted;
}

}  // namespace

// To nvcc these are device functions, too, which cannot throw. Inlined, gcc warns of `free` for
// what comes of `new`.
#ifndef __CUDA_ARCH__
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (counting) { ++counted; }
  if (auto* const block = std::malloc(bytes); block != nullptr) { return block; }
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
#endif

TEST_CASE("the count of allocations counts", "[comm]") {
  CHECK(allocations_of([] { ::operator delete(::operator new(8)); }) == 1);
  CHECK(allocations_of([] {}) == 0);
}

TEST_CASE("an operation of a kind that was enqueued before allocates nothing on the host",
          "[comm]") {
  constexpr std::size_t count = 777;
  auto const seed = test::fresh_seed();
  for (auto const how : test::all_algorithms) {
    test::world<float> all{2, count, test::checked_options(how)};
    REQUIRE(all.run(count, 1, 0, false, comm::reduction::sum, seed) == "");
    auto const at = all.buffers(1, 0, false);
    all.fill(at, count, seed + 1);
    CHECK(allocations_of([&] { all.enqueue(at, count, comm::reduction::sum); }) == 0);
    all.synchronize();
    CHECK(all.wrong(at, count, comm::reduction::sum) == "");
  }
}
