// SPDX-License-Identifier: Apache-2.0
/// @file
/// JSON written piece by piece into a file, with no document in memory.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/core/utf8.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::trace {

/// Adds `text` as a JSON string; bytes that are not UTF-8 become U+FFFD.
inline void append_quoted(std::string& to, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  to += '"';
  std::size_t plain = 0;  // the begin of the text that is not yet added
  auto const flush = [&](std::size_t until) { to += text.substr(plain, until - plain); };
  for (std::size_t at = 0; at < text.size();) {
    auto const byte = static_cast<std::uint8_t>(text[at]);
    if (byte >= 0x80) {
      if (auto const length = utf8_character(text, at); length != 0) {
        at += length;
        continue;
      }
      flush(at);
      to += "\\ufffd";
    } else if (byte == '"' || byte == '\\') {
      flush(at);
      to += {'\\', text[at]};
    } else if (byte < 0x20) {
      flush(at);
      to += "\\u00";
      to += {digits[byte >> 4U], digits[byte & 15U]};
    } else {
      ++at;
      continue;
    }
    plain = ++at;
  }
  flush(text.size());
  to += '"';
}

inline std::string quoted(std::string_view text) {
  std::string made;
  append_quoted(made, text);
  return made;
}

/// Writes JSON into a file. Commas come by themselves; brackets are the care of the caller.
class json_stream {
 public:
  explicit json_stream(atomic_file& to) : to_(to) { buffer_.reserve(2 * chunk_bytes); }

  json_stream& open(char bracket) {
    comma();
    buffer_ += bracket;
    first_ = true;
    return *this;
  }
  json_stream& close(char bracket) {
    buffer_ += bracket;
    first_ = false;
    if (buffer_.size() >= chunk_bytes) { flush(); }
    return *this;
  }
  /// Begins a new line, so that a file of one event per line can be searched by line.
  json_stream& line() {
    comma();
    buffer_ += '\n';
    first_ = true;
    return *this;
  }
  json_stream& key(std::string_view name) {
    comma();
    append_quoted(buffer_, name);
    buffer_ += ':';
    first_ = true;
    return *this;
  }

  json_stream& value(std::string_view text) {
    comma();
    append_quoted(buffer_, text);
    return *this;
  }
  json_stream& value(char const* text) { return value(std::string_view{text}); }
  json_stream& value(bool yes) { return plain(yes ? "true" : "false"); }
  /// The shortest digits that read back as the same number, which must be finite.
  template <class Number>
  requires(std::integral<Number> || std::floating_point<Number>)
  json_stream& value(Number number) {
    std::array<char, 32> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return plain({digits.data(), end});
  }
  /// Nanoseconds as microseconds with three decimals.
  json_stream& microseconds(std::int64_t nanoseconds) {
    auto const size = nanoseconds < 0 ? 0 - static_cast<std::uint64_t>(nanoseconds)
                                      : static_cast<std::uint64_t>(nanoseconds);
    auto const decimals = std::to_string(1000 + size % 1000);
    return plain(
        concat({nanoseconds < 0 ? "-" : "", std::to_string(size / 1000), ".", decimals.substr(1)}));
  }
  template <class... Values>
  json_stream& array(Values const&... values) {
    open('[');
    (value(values), ...);
    return close(']');
  }
  template <class T>
  json_stream& member(std::string_view name, T const& of) {
    return key(name).value(of);
  }

  void flush() {
    to_.write(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 20U;

  void comma() {
    if (!first_) { buffer_ += ','; }
    first_ = false;
  }
  json_stream& plain(std::string_view text) {
    comma();
    buffer_ += text;
    return *this;
  }

  atomic_file& to_;
  std::string buffer_;
  bool first_ = true;  ///< the next value follows a bracket or a key
};

}  // namespace assay::trace
