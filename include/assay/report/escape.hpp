// SPDX-License-Identifier: Apache-2.0
/// @file
/// Text for terminals, HTML, SVG and XML: no markup, no control characters, valid UTF-8.
#pragma once

#include <assay/core/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace assay::report {

namespace detail {

/// The length of the UTF-8 character at the front of `text`; 0 where the bytes are none, or one
/// that XML forbids: a C1 control character, U+FFFE or U+FFFF.
inline std::size_t xml_character(std::string_view text) {
  bool const control = text.size() > 1 && text[0] == '\xC2' && text[1] < '\xA0';
  bool const forbidden =
      control || text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
  return forbidden ? 0 : utf8_character(text, 0);
}

/// True if a byte begins a character of UTF-8. Names that are not UTF-8 only get a worse layout.
constexpr bool begins_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

/// The number of characters of a text in UTF-8.
inline std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

}  // namespace detail

/// The text with its control characters as visible symbols, and U+FFFD for each byte that is no
/// UTF-8. Line ends stay where `keep_lines` says so; else they become blanks, as tabs always do.
inline std::string printable(std::string_view text, bool keep_lines = false) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto const length = detail::xml_character(text);
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

/// A name on one line: a longer one is cut to `most` characters and ends in dots, since whole
/// template arguments would bury a sentence.
inline std::string shortened(std::string_view name, std::size_t most = 60) {
  auto text = printable(name);
  if (detail::characters(text) <= most) { return text; }
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    if (detail::begins_character(text[at]) && seen++ == most) { break; }
  }
  return text.substr(0, at) + "...";
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
