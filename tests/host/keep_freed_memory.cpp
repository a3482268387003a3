// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, it changes the allocator of the whole program
#include <assay/host/keep_freed_memory.hpp>

#include "catch.hpp"

#include <sys/resource.h>

#include <cstddef>
#include <vector>

namespace {

/// The pages that the system gave this process while it filled and freed 64 MiB, in two blocks: one
/// below and one above what glibc maps by itself at first.
long pages_of_a_round() {
  auto const given = [] {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
  };
  auto const before = given();
  std::size_t sum = 0;
  for (std::size_t const mib : {std::size_t{16}, std::size_t{48}}) {
    std::vector<unsigned char> block(mib << 20U, 1);
    sum += block[block.size() / 2];
  }
  REQUIRE(sum == 2);
  return given() - before;
}

}  // namespace

TEST_CASE("freed memory is taken again, without a page from the system") {
  if (!assay::host::keep_freed_memory()) { return; }  // another C library, or a sanitizer
  auto const first = pages_of_a_round();
  CHECK(first > 0);
  CHECK(pages_of_a_round() < first / 100 + 8);
}
