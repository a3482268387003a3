// SPDX-License-Identifier: Apache-2.0
/// @file
/// JSON written piece by piece into a file, with no document in memory.
#pragma once

#include <assay/core/file.hpp>
#include <assay/trace/utf8.hpp>

#include <array>
#include <charconv>
#include <cmath>
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
  std::size_t plain = 0;  // where what is not yet added begins
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

/// JSON on its way into a file. Names of members and their order are the caller's care.
class json_stream {
 public:
  explicit json_stream(new_file& to) : to_(to) { buffer_.reserve(2 * chunk_bytes); }

  /// Adds characters as they are.
  json_stream& raw(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= chunk_bytes) { flush(); }
    return *this;
  }

  json_stream& value(std::string_view text) {
    append_quoted(buffer_, text);
    return raw({});
  }
  json_stream& value(char const* text) { return value(std::string_view{text}); }
  json_stream& value(bool yes) { return raw(yes ? "true" : "false"); }
  json_stream& value(std::integral auto number) {
    std::array<char, 24> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return raw({digits.data(), end});
  }
  /// The shortest digits that read back as the same number; JSON has none for NaN and infinities,
  /// which become null and strings.
  json_stream& value(double number) {
    if (std::isnan(number)) { return raw("null"); }
    if (std::isinf(number)) { return value(number > 0 ? "inf" : "-inf"); }
    std::array<char, 32> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return raw({digits.data(), end});
  }
  /// Nanoseconds as microseconds with three decimals.
  json_stream& microseconds(std::int64_t nanoseconds) {
    auto const size = nanoseconds < 0 ? 0 - static_cast<std::uint64_t>(nanoseconds)
                                      : static_cast<std::uint64_t>(nanoseconds);
    raw(nanoseconds < 0 ? "-" : "").value(size / 1000);
    auto const rest = static_cast<unsigned>(size % 1000);
    std::array<char, 4> const decimals{'.', static_cast<char>('0' + rest / 100),
                                       static_cast<char>('0' + rest / 10 % 10),
                                       static_cast<char>('0' + rest % 10)};
    return raw({decimals.data(), decimals.size()});
  }

  template <class T>
  json_stream& member(std::string_view name, T const& of) {
    return raw("\"").raw(name).raw("\":").value(of);
  }

  void flush() {
    to_.write(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 20U;

  new_file& to_;
  std::string buffer_;
};

}  // namespace assay::trace
