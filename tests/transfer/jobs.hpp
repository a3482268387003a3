// SPDX-License-Identifier: Apache-2.0
/// @file
/// A job for tests of transfers: two inputs and two outputs of different widths, block-local, with
/// one right answer to the bit.
#pragma once

#include <assay/transfer/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace assay::test {

/// out0[i] = 3 a[i] + the sum of b over the block of i; out1[i] = the low byte of a[i] ^ b[i].
/// Arrays may begin at odd addresses.
inline void block_work(std::int64_t count, std::int64_t granularity, void const* a, void const* b,
                       void* out0, void* out1) {
  auto const load = [](void const* from, std::int64_t i, auto kind) {
    std::memcpy(&kind,
                static_cast<std::byte const*>(from) + static_cast<std::size_t>(i) * sizeof kind,
                sizeof kind);
    return kind;
  };
  for (std::int64_t first = 0; first < count; first += granularity) {
    auto const end = std::min(count, first + granularity);
    std::uint64_t sum = 0;
    for (auto i = first; i < end; ++i) { sum += load(b, i, std::uint16_t{}); }
    for (auto i = first; i < end; ++i) {
      auto const x = load(a, i, std::uint32_t{});
      std::uint64_t const wide = std::uint64_t{3} * x + sum;
      auto const narrow = static_cast<std::uint8_t>(x ^ load(b, i, std::uint16_t{}));
      auto const at = static_cast<std::size_t>(i);
      std::memcpy(static_cast<std::byte*>(out0) + at * sizeof wide, &wide, sizeof wide);
      std::memcpy(static_cast<std::byte*>(out1) + at, &narrow, 1);
    }
  }
}

inline constexpr std::size_t widths[] = {4, 2, 8, 1};  // of a, b, out0, out1

/// The first error in the outputs, or nothing. `a` and `b` are the inputs of the run.
inline std::string wrong_outputs(std::int64_t count, std::int64_t granularity, void const* a,
                                 void const* b, void const* out0, void const* out1) {
  auto const size = static_cast<std::size_t>(count);
  std::vector<std::byte> expected0(size * widths[2] + 1);
  std::vector<std::byte> expected1(size + 1);
  block_work(count, granularity, a, b, expected0.data(), expected1.data());
  for (std::size_t i = 0; i < size; ++i) {
    if (std::memcmp(static_cast<std::byte const*>(out0) + i * 8, expected0.data() + i * 8, 8) !=
        0) {
      return "output 0 is wrong at " + std::to_string(i);
    }
    if (static_cast<std::byte const*>(out1)[i] != expected1[i]) {
      return "output 1 is wrong at " + std::to_string(i);
    }
  }
  return "";
}

inline void fill_random(void* data, std::size_t bytes, std::uint64_t seed) {
  std::mt19937_64 draw{seed};
  auto* const to = static_cast<unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) { to[i] = static_cast<unsigned char>(draw()); }
}

}  // namespace assay::test
