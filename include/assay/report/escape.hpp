// SPDX-License-Identifier: Apache-2.0
/// @file
/// Text for HTML, SVG and XML: no markup, no control characters, valid UTF-8.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::report {

namespace detail {

/// The length of the UTF-8 character at the front of `text`; 0 where the bytes are none, or one
/// that XML forbids: a surrogate, a C1 control character, U+FFFE or U+FFFF.
inline std::size_t utf8_length(std::string_view text) {
  auto const first = static_cast<unsigned char>(text.front());
  if (first < 0x80) { return 1; }
  auto const length = first >= 0xF0 ? 4U : first >= 0xE0 ? 3U : 2U;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) { return 0; }
  char32_t value = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    auto const next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80U) { return 0; }
    value = value << 6U | (next & 0x3FU);
  }
  constexpr char32_t least[] = {0, 0, 0xA0, 0x800, 0x10000};
  auto const forbidden = value < least[length] || value > 0x10FFFF ||
                         (value >= 0xD800 && value < 0xE000) || (value & 0xFFFEU) == 0xFFFEU;
  return forbidden ? 0 : length;
}

}  // namespace detail

/// The text with its control characters as visible symbols, and U+FFFD for each byte that is no
/// UTF-8. Line ends stay where `keep_lines` says so; else they become blanks, as tabs always do.
inline std::string printable(std::string_view text, bool keep_lines = false) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto const length = detail::utf8_length(text);
    auto const byte = static_cast<unsigned char>(text.front());
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (byte == '\n' && keep_lines) {
      out += '\n';
    } else if (byte == '\n' || byte == '\t' || byte == '\r') {
      out += ' ';
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\xE2\x90";  // U+2400 + byte; U+2421 for DEL
      out += static_cast<char>(byte == 0x7F ? 0xA1 : 0x80 + byte);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

/// Text for the contents and for the attributes of elements.
inline std::string escaped(std::string_view text) {
  std::string out;
  for (char const each : printable(text)) {
    switch (each) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += each;
    }
  }
  return out;
}

}  // namespace assay::report
