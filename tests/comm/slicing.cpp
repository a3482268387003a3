// SPDX-License-Identifier: Apache-2.0
/// @file
/// Packs and slices cover every element once, for any count and alignment.

#include "catch.hpp"

#include <assay/comm/slicing.hpp>

#include <array>
#include <cstdint>
#include <vector>

using namespace assay::comm;

namespace {

/// How often each element is in a pack, by the definition of `pack_grid`.
std::vector<int> visits(pack_grid const& grid, unsigned in_pack) {
  std::vector<int> seen(grid.count, 0);
  for (std::uint64_t k = 0; k < grid.packs; ++k) {
    for (std::uint64_t i = 0; i < in_pack; ++i) {
      auto const at = k * in_pack + i - grid.shift;
      if (at < grid.count) { ++seen[at]; }
    }
  }
  return seen;
}

}  // namespace

TEST_CASE("packs hold every element once, and whole packs nothing else", "[comm]") {
  for (std::size_t const bytes : {2U, 4U}) {
    auto const in_pack = static_cast<unsigned>(pack_bytes / bytes);
    for (std::uint64_t count = 0; count < 70; ++count) {
      for (unsigned late = 0; late < in_pack; ++late) {
        std::array<std::uintptr_t, 4> const at{4096 + late * bytes, 8192 + late * bytes,
                                               16384 + late * bytes, 65536 + late * bytes};
        auto const grid = make_pack_grid(bytes, count, at);
        INFO(bytes << "-byte elements, " << count << " of them, " << late << " late");
        CHECK(grid.wide);
        CHECK(grid.shift == late);
        for (int const seen : visits(grid, in_pack)) { REQUIRE(seen == 1); }
        REQUIRE(grid.first_whole <= grid.end_whole);
        REQUIRE(grid.end_whole <= grid.packs);
        for (std::uint64_t k = 0; k < grid.packs; ++k) {
          bool const whole =
              k * in_pack >= grid.shift && (k + 1) * in_pack - grid.shift <= grid.count;
          REQUIRE(whole == (k >= grid.first_whole && k < grid.end_whole));
          if (whole) { REQUIRE((at[0] + (k * in_pack - grid.shift) * bytes) % pack_bytes == 0); }
        }
      }
    }
  }
}

TEST_CASE("buffers of different alignment share the grid that suits most, without wide packs",
          "[comm]") {
  std::array<std::uintptr_t, 3> const at{4096 + 8, 8192 + 4, 16384 + 8};
  auto const grid = make_pack_grid(4, 1000, at);
  CHECK_FALSE(grid.wide);
  CHECK(grid.shift == 2);
  for (int const seen : visits(grid, 4)) { REQUIRE(seen == 1); }
}

TEST_CASE("the slices of the ranks hold all packs, and begin on lines", "[comm]") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (std::uint64_t packs = 0; packs < 300; ++packs) {
      auto const each = slice_packs(packs, ranks);
      REQUIRE(each * static_cast<std::uint64_t>(ranks) >= packs);
      if (each < packs) { REQUIRE(each % line_packs == 0); }
      REQUIRE(each <= packs / static_cast<std::uint64_t>(ranks) + line_packs);
    }
  }
}

TEST_CASE("shares add up", "[comm]") {
  for (std::uint64_t total = 0; total < 100; ++total) {
    for (std::uint64_t parts = 1; parts < 20; ++parts) {
      auto const share = share_of(total, parts);
      CHECK(share * parts >= total);
      CHECK((share == 0 || (share - 1) * parts < total));
    }
  }
}
