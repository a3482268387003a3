// SPDX-License-Identifier: Apache-2.0
/// @file
/// A streaming copy is a copy: at every alignment, at every length round its steps, and no byte
/// more.

#include "catch.hpp"

#include <assay/host/streaming_copy.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace {

constexpr std::size_t margin = 128;
constexpr auto poison = std::byte{0x7F};

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 draw{seed};
  std::vector<std::byte> made(count);
  for (auto& each : made) {
    do { each = static_cast<std::byte>(draw()); } while (each == poison);
  }
  return made;
}

/// Whether exactly the `bytes` bytes from `to_offset` on are those of the source.
bool copies(std::vector<std::byte> const& source, std::size_t from_offset, std::size_t to_offset,
            std::size_t bytes) {
  std::vector<std::byte> target(to_offset + bytes + margin, poison);
  assay::host::streaming_copy(target.data() + to_offset, source.data() + from_offset, bytes);
  auto const begin = target.begin() + static_cast<std::ptrdiff_t>(to_offset);
  auto const end = begin + static_cast<std::ptrdiff_t>(bytes);
  auto const kept = [](auto from, auto to) {
    return std::all_of(from, to, [](std::byte each) { return each == poison; });
  };
  return std::equal(begin, end, source.begin() + static_cast<std::ptrdiff_t>(from_offset)) &&
         kept(target.begin(), begin) && kept(end, target.end());
}

}  // namespace

TEST_CASE("every alignment of source and target is copied", "[streaming_copy]") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  auto const source = random_bytes(8192, seed);
  bool right = true;
  for (std::size_t from = 0; from < 64; ++from) {
    for (std::size_t to = 0; to < 64; ++to) {
      for (std::size_t const bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1023},
                                      std::size_t{1024}, std::size_t{1025}, std::size_t{4096}}) {
        right = right && copies(source, from, to, bytes);
      }
    }
  }
  CHECK(right);
}

TEST_CASE("every length round the steps is copied", "[streaming_copy]") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  auto const source = random_bytes(8192, seed);
  for (std::size_t bytes = 0; bytes < 2300; ++bytes) {
    if (!copies(source, bytes % 61, bytes % 59, bytes)) { FAIL("wrong at " << bytes << " bytes"); }
  }
}

TEST_CASE("nothing may be copied from nowhere", "[streaming_copy]") {
  assay::host::streaming_copy(nullptr, nullptr, 0);
}
