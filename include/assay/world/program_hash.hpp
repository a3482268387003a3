// SPDX-License-Identifier: Apache-2.0
/// @file
/// `program_hash`: tells builds of a program apart.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <ios>
#include <string>
#include <vector>

namespace assay {

/// A hash of the file of this program, as 16 digits of base 16. Shared libraries are not in it.
inline std::string const& program_hash() {
  static std::string const known = [] {
    std::ifstream file{"/proc/self/exe", std::ios::binary};
    std::vector<char> piece(1U << 20U);
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, over words in place of bytes
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) ||
           file.gcount() > 0) {
      std::fill(piece.begin() + file.gcount(), piece.end(), '\0');
      for (std::size_t i = 0; i < piece.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, &piece[i], 8);
        hash = (hash ^ word) * 0x100000001b3;
        hash ^= hash >> 29U;
      }
    }
    std::array<char, 17> text{};
    auto const [end, error] = std::to_chars(text.data(), text.data() + 16, hash, 16);
    return std::string(16 - static_cast<std::size_t>(end - text.data()), '0') + text.data();
  }();
  return known;
}

}  // namespace assay
