// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads values from the words of a command line. A refusal names the word and the allowed values.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/requirements.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace assay::cli {

/// The number that `text` begins with, and the rest without blanks before it; throws
/// `std::invalid_argument` with `remedy` when there is none.
inline std::pair<double, std::string_view> leading_number(std::string_view text,
                                                          std::string_view remedy) {
  double value = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) {
    throw std::invalid_argument(concat({"'", text, "' is not a number: ", remedy}));
  }
  auto rest = text.substr(static_cast<std::size_t>(stop - text.data()));
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return {value, rest};
}

/// Calls `parse` for the value of an option; a refusal is prefixed with the option's name.
template <class Parse>
auto value_of(std::string_view option, Parse const& parse) {
  try {
    return parse();
  } catch (std::invalid_argument const& error) {
    throw std::invalid_argument(concat({option, ": ", error.what()}));
  }
}

/// A number of bytes: `1048576`, `512MB` (decimal), `10GiB`, `1.5 GiB` (binary); at least 1.
inline std::size_t parse_bytes(std::string_view text) {
  constexpr std::string_view remedy = "write a size such as 10GiB, 512MB or 1048576";
  using unit = std::pair<std::string_view, double>;
  constexpr std::array units{unit{"", 1},         unit{"b", 1},        unit{"kb", 1e3},
                             unit{"mb", 1e6},     unit{"gb", 1e9},     unit{"tb", 1e12},
                             unit{"kib", 0x1p10}, unit{"mib", 0x1p20}, unit{"gib", 0x1p30},
                             unit{"tib", 0x1p40}};
  auto const [value, rest] = leading_number(text, remedy);
  std::string suffix{rest};
  std::ranges::transform(suffix, suffix.begin(), [](char each) {
    return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
  });
  auto const found = std::ranges::find(units, std::string_view{suffix}, &unit::first);
  auto const refuse = [&](std::string const& why) {
    throw std::invalid_argument(concat({"'", text, "' ", why, ": ", remedy}));
  };
  if (found == units.end()) { refuse("has an unknown unit"); }
  auto const bytes = value * found->second;
  if (bytes < 1) { refuse("is not a positive size"); }
  if (bytes >= 0x1p63) { refuse("is more than any machine has"); }
  if (bytes != std::floor(bytes)) { refuse("is not a whole number of bytes"); }
  return static_cast<std::size_t>(bytes);
}

/// A seed: a whole number from 1, since 0 stands for "draw one".
inline std::uint64_t parse_seed(std::string_view text) {
  std::uint64_t value = 0;
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value == 0) {
    throw std::invalid_argument(
        concat({"'", text, "' is not a seed: write a whole number from 1 to 2^64 - 1"}));
  }
  return value;
}

/// A share between 0 and 1, the ends included or not as its caller checks: `1%` or `0.01`. A plain
/// number above 1 is refused, since it may stand for either.
inline double parse_share(std::string_view text) {
  constexpr std::string_view remedy = "write a share such as 1% or 0.01";
  auto const [value, rest] = leading_number(text, remedy);
  auto const share = rest == "%" ? value / 100 : value;
  if ((!rest.empty() && rest != "%") || !(share >= 0 && share <= 1)) {
    throw std::invalid_argument(concat({"'", text, "' is not a share between 0 and 1: ", remedy}));
  }
  return share;
}

/// A share that lies between 0 and 1 and is neither of them, from an option such as `--margin 1%`.
inline double read_share(std::string_view option, std::string const& text) {
  auto const value = value_of(option, [&] { return parse_share(text); });
  if (value > 0 && value < 1) { return value; }
  throw std::invalid_argument(
      concat({option, " ", text, ": it must lie between 0 and 100 %, such as 1%"}));
}

/// `a, b, c`
inline std::string joined(std::vector<std::string> const& words, char const* between = ", ") {
  std::string result;
  for (auto const& word : words) { result += (result.empty() ? "" : between) + word; }
  return result;
}

/// The position of `word` in `choices`; throws `std::invalid_argument` that names `what`, the word
/// and the choices. For the value of an option use `choose`.
inline std::size_t find_choice(std::string_view what, std::string const& word,
                               std::vector<std::string> const& choices) {
  auto const found = std::ranges::find(choices, word);
  if (found == choices.end()) {
    throw std::invalid_argument(
        concat({"unknown ", what, " '", word, "': choose one of ", joined(choices)}));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

/// The same for the value of an option, which a refusal begins with: `--type: unknown type 'x'`.
inline std::size_t choose(std::string_view option, std::string_view what, std::string const& word,
                          std::vector<std::string> const& choices) {
  return value_of(option, [&] { return find_choice(what, word, choices); });
}

/// Throws `std::invalid_argument` unless `value` is in [low, high]; `name` as the user wrote it.
template <class Number>
void require_between(std::string_view name, Number value, Number low, Number high) {
  if (value >= low && value <= high) { return; }
  auto const text = [](Number number) {
    std::array<char, 32> digits{};
    return std::string{digits.data(),
                       std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
  };
  auto const limit = high == std::numeric_limits<Number>::max()
                         ? "must be at least " + text(low)
                         : concat({"must be between ", text(low), " and ", text(high)});
  throw std::invalid_argument(concat({name, " ", text(value), ": it ", limit}));
}

/// A count that must be at least one, and fits `int`.
inline void require_count(std::string_view name, long long value) {
  constexpr long long most = std::numeric_limits<int>::max();
  require_between(name, value, 1LL, value < 1 ? std::numeric_limits<long long>::max() : most);
}

}  // namespace assay::cli
