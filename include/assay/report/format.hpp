// SPDX-License-Identifier: Apache-2.0
/// @file
/// Numbers as people read them: durations, sizes, rates, shares; `-` where a number is unknown.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/requirements.hpp>
#include <assay/stats/number_text.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::report {

/// The digits of a number, whatever the locale: as many after the point, or of all in
/// `std::chars_format::general`.
inline std::string digits_of(double value, int digits,
                             std::chars_format form = std::chars_format::general) {
  return stats::number_text(value, digits, form);
}

/// `value` with a fixed number of decimals; `-` for NaN, `inf` for infinities.
inline std::string fixed(double value, int decimals) {
  if (std::isnan(value)) { return "-"; }
  if (std::isinf(value)) { return value > 0 ? "inf" : "-inf"; }
  auto const result = digits_of(value, decimals, std::chars_format::fixed);
  auto const only_zeros = result.find_first_not_of("-0.") == std::string::npos;
  return only_zeros && result.front() == '-' ? result.substr(1) : result;
}

namespace detail {

/// The number of decimals that shows `digits` significant digits of `value`.
inline int decimals_for(double value, int digits) {
  auto const size = std::abs(value);
  if (!std::isfinite(size) || size < 1) { return digits - 1; }
  auto before = 1;
  // 9.999 shown with two decimals reads 10.00: count the digits after rounding.
  for (double limit = 10; size >= limit - 0.5 * std::pow(10.0, before - digits); limit *= 10) {
    ++before;
  }
  return std::max(0, digits - before);
}

template <std::size_t N>
std::string scaled(double value, double base, std::array<std::string_view, N> const& units) {
  if (!std::isfinite(value)) { return fixed(value, 0); }
  std::size_t unit = 0;
  // 999.9 of one unit reads better as 1.00 of the next, hence the rounding allowance.
  while (unit + 1 < N && std::abs(value) >= base * (1 - 5e-4)) {
    value /= base;
    ++unit;
  }
  return concat({fixed(value, detail::decimals_for(value, 3)), " ", units[unit]});
}

}  // namespace detail

/// A unit of time: `factor` of them are a second.
struct time_unit {
  double factor = 1;
  std::string_view name = "s";
};

/// The unit in which a time of this size is short.
inline time_unit unit_for(double seconds) {
  auto const size = std::abs(seconds) / (1 - 5e-5);  // 999.96 us reads better as 1.000 ms
  if (size >= 1 || size == 0) { return {1, "s"}; }
  if (size >= 1e-3) { return {1e3, "ms"}; }
  return size >= 1e-6 ? time_unit{1e6, "us"} : time_unit{1e9, "ns"};
}

/// A duration given in seconds, with four significant digits: `12.34 ms`.
inline std::string duration(double seconds) {
  if (!std::isfinite(seconds)) { return fixed(seconds, 0); }
  if (seconds == 0) { return "0 s"; }
  auto const [factor, unit] = unit_for(seconds);
  return concat({fixed(seconds * factor, detail::decimals_for(seconds * factor, 4)), " ", unit});
}

/// A change of a time, with its sign: `+12.34 ms`.
inline std::string signed_duration(double seconds) {
  std::string text{seconds < 0 ? "-" : "+"};  // GCC 12 warns of "x" + std::string
  return text += duration(std::abs(seconds));
}

/// A change of a time with its interval, in one unit: `+1.515 ms [+1.218, +1.934]`. The change
/// alone where there is no interval.
inline std::string duration_change(double seconds, double low, double high) {
  if (!std::isfinite(low) || !std::isfinite(high)) { return signed_duration(seconds); }
  auto const largest = std::max({std::abs(seconds), std::abs(low), std::abs(high)});
  auto const [factor, unit] = unit_for(largest);
  auto const decimals = detail::decimals_for(largest * factor, 4);
  auto const part = [scale = factor, decimals](double each) {
    return (each < 0 ? "" : "+") + fixed(each * scale, decimals);
  };
  return concat({part(seconds), " ", unit, " [", part(low), ", ", part(high), "]"});
}

/// A size in bytes with binary prefixes: `20.5 MiB`. Below 1 KiB it is exact.
inline std::string byte_size(double bytes) {
  constexpr std::array<std::string_view, 6> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (std::abs(bytes) < 1023.5) { return fixed(bytes, 0) + (std::isfinite(bytes) ? " B" : ""); }
  return detail::scaled(bytes, 1024, units);
}

/// A rate with decimal prefixes. `unit` is the counted thing: 3.97e12 of `B` print as `3.97 TB/s`.
inline std::string rate(double per_second, std::string_view unit) {
  constexpr std::array<std::string_view, 6> prefixes{"", "k", "M", "G", "T", "P"};
  auto text = detail::scaled(per_second, 1000, prefixes);
  return std::isfinite(per_second) ? concat({text, unit, "/s"}) : text;
}

/// A frequency given in hertz: `1.98 GHz`.
inline std::string frequency(double hertz) {
  constexpr std::array<std::string_view, 4> units{"Hz", "kHz", "MHz", "GHz"};
  return detail::scaled(hertz, 1000, units);
}

/// A whole number with separators: `2,684,354`.
inline std::string count(std::uint64_t value) {
  auto text = std::to_string(value);
  for (auto at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

/// Decimals that show a share of this size as a percentage to about three digits.
inline int percent_decimals(double share) {
  auto const percent = std::abs(share) * 100;
  if (!std::isfinite(percent) || percent >= 99.95) { return 0; }
  return percent >= 9.995 ? 1 : percent >= 0.0995 ? 2 : 3;
}

/// A share of one as a percentage without its sign: `0.30 %`.
inline std::string percent(double share, int decimals) {
  return fixed(share * 100, decimals) + " %";
}
inline std::string percent(double share) { return percent(share, percent_decimals(share)); }

/// A share as a number of per cent with its sign and without the unit: `+0.30`.
inline std::string signed_percent(double share, int decimals) {
  auto const text = fixed(share * 100, decimals);
  auto const positive = text.find_first_of("123456789") != std::string::npos || text == "inf";
  return share > 0 && positive ? "+" + text : text;
}

/// A ratio of two times as the change of the second: `+12.3 %`, and above 100 % a factor, `4.02x`,
/// since readers mistake "+302 %".
inline std::string change_text(double ratio, int decimals) {
  if (ratio > 2) { return fixed(ratio, detail::decimals_for(ratio, 3)) + "x"; }
  return signed_percent(ratio - 1, decimals) + " %";
}

/// The smallest percentage with these decimals that is not below `share`, so that a printed "no
/// larger than" is true.
inline std::string percent_upper(double share, int decimals) {
  auto const step = std::pow(10.0, decimals);
  // The tolerance keeps a share that is exact in print, such as 0.005, from moving up a step.
  return fixed(std::ceil(share * 100 * step - 1e-9) / step, decimals) + " %";
}

/// A percentage in as few digits as it needs: `1 %`, `0.5 %`. For settings, not measurements.
inline std::string setting_percent(double share) { return digits_of(share * 100, 6) + " %"; }

namespace detail {

/// The end of the word that begins at `begin`: the next blank outside braces that no per cent sign
/// follows. So `pool{10 GiB}`, `[0.21, 0.39]` and `3.1 %` are one word each.
inline std::size_t word_end(std::string_view text, std::size_t begin) {
  auto depth = 0;
  for (auto at = begin; at < text.size(); ++at) {
    if (text[at] == '{' || text[at] == '[') { ++depth; }
    if (text[at] == '}' || text[at] == ']') { depth = std::max(0, depth - 1); }
    auto const before_sign = at + 1 < text.size() && text[at + 1] == '%';
    if (text[at] == '\n' || (depth == 0 && text[at] == ' ' && !before_sign)) { return at; }
  }
  return text.size();
}

}  // namespace detail

/// Breaks text between words so that no line is longer than `width`. The first line begins with
/// `first_indent`, and each further line with `indent`. A word longer than a line gets its own
/// line.
inline std::string wrapped(std::string_view text, std::string_view first_indent,
                           std::string_view indent, std::size_t width = 100) {
  std::string result{first_indent};
  auto column = first_indent.size();
  auto line_is_empty = true;
  for (std::size_t at = 0; at < text.size();) {
    auto const begin = text.find_first_not_of(" \n", at);
    if (begin == std::string_view::npos) { break; }
    auto const end = detail::word_end(text, begin);
    auto const word = text.substr(begin, end - begin);
    if (!line_is_empty && column + 1 + word.size() > width) {
      result.append("\n").append(indent);
      column = indent.size();
      line_is_empty = true;
    }
    if (!line_is_empty) { result += ' '; }
    result += word;
    column += word.size() + (line_is_empty ? 0 : 1);
    line_is_empty = false;
    at = end;
  }
  return result + "\n";
}

}  // namespace assay::report
