// SPDX-License-Identifier: Apache-2.0
/// @file
/// Vec16s and slices cover every element once, for any count and alignment.

#include "catch.hpp"

#include <assay/comm/slicing.hpp>

#include <array>
#include <cstdint>
#include <vector>

using namespace assay::comm;

namespace {

/// The number of vec16s that have each element, by the definition of `vec16_grid`.
std::vector<int> visits(vec16_grid const& grid, unsigned per_vec) {
  std::vector<int> seen(grid.count, 0);
  for (std::uint64_t k = 0; k < grid.vecs; ++k) {
    for (std::uint64_t i = 0; i < per_vec; ++i) {
      auto const at = k * per_vec + i - grid.shift;
      if (at < grid.count) { ++seen[at]; }
    }
  }
  return seen;
}

}  // namespace

TEST_CASE("vecs hold every element once, and whole vecs nothing else", "[comm]") {
  for (std::size_t const bytes : {2U, 4U}) {
    auto const per_vec = static_cast<unsigned>(vec16_bytes / bytes);
    for (std::uint64_t count = 0; count < 70; ++count) {
      for (unsigned late = 0; late < per_vec; ++late) {
        std::array<std::uintptr_t, 4> const at{4096 + late * bytes, 8192 + late * bytes,
                                               16384 + late * bytes, 65536 + late * bytes};
        auto const grid = make_vec16_grid(bytes, count, at);
        INFO(bytes << "-byte elements, " << count << " of them, " << late << " late");
        CHECK(grid.wide);
        CHECK(grid.shift == late);
        for (int const seen : visits(grid, per_vec)) { REQUIRE(seen == 1); }
        REQUIRE(grid.first_whole <= grid.end_whole);
        REQUIRE(grid.end_whole <= grid.vecs);
        for (std::uint64_t k = 0; k < grid.vecs; ++k) {
          bool const whole =
              k * per_vec >= grid.shift && (k + 1) * per_vec - grid.shift <= grid.count;
          REQUIRE(whole == (k >= grid.first_whole && k < grid.end_whole));
          if (whole) { REQUIRE((at[0] + (k * per_vec - grid.shift) * bytes) % vec16_bytes == 0); }
        }
      }
    }
  }
}

TEST_CASE("buffers of different alignment share the grid that suits most, without wide vecs",
          "[comm]") {
  std::array<std::uintptr_t, 3> const at{4096 + 8, 8192 + 4, 16384 + 8};
  auto const grid = make_vec16_grid(4, 1000, at);
  CHECK_FALSE(grid.wide);
  CHECK(grid.shift == 2);
  for (int const seen : visits(grid, 4)) { REQUIRE(seen == 1); }
}

TEST_CASE("the slices of the ranks hold all vecs, and begin on lines", "[comm]") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (std::uint64_t vecs = 0; vecs < 300; ++vecs) {
      auto const each = slice_vecs(vecs, ranks);
      REQUIRE(each * static_cast<std::uint64_t>(ranks) >= vecs);
      if (each < vecs) { REQUIRE(each % line_vecs == 0); }
      REQUIRE(each <= vecs / static_cast<std::uint64_t>(ranks) + line_vecs);
    }
  }
}

TEST_CASE("shares add up", "[comm]") {
  for (std::uint64_t total = 0; total < 100; ++total) {
    for (std::uint64_t parts = 1; parts < 20; ++parts) {
      auto const share = ceil_div(total, parts);
      CHECK(share * parts >= total);
      CHECK((share == 0 || (share - 1) * parts < total));
    }
  }
}
