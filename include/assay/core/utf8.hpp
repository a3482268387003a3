// SPDX-License-Identifier: Apache-2.0
/// @file
/// The characters of UTF-8 in texts of others.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

/// The number of bytes of the UTF-8 character that begins at `at`; 0 if there is none. Overlong
/// forms, surrogates and code points beyond U+10FFFF are not characters (Unicode 15, table 3-7).
constexpr std::size_t utf8_character(std::string_view text, std::size_t at) noexcept {
  auto const byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  auto const lead = byte(at);
  if (lead < 0x80) { return 1; }
  if (lead < 0xc2 || lead > 0xf4) { return 0; }
  std::size_t const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  auto const lowest = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  auto const highest = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(at + 1) < lowest || byte(at + 1) > highest) { return 0; }
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80) { return 0; }
  }
  return length;
}

/// `text` with U+FFFD in the place of each byte that belongs to no character.
inline std::string repaired_utf8(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    auto const length = utf8_character(text, at);
    result += length == 0 ? std::string_view{"\xef\xbf\xbd"} : text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return result;
}

}  // namespace assay
