// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to verifier.hpp: the values that each size meets.
#pragma once

#include <assay/arrays/special_values.hpp>
#include <assay/verify/sizes.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace assay::verify_detail {

/// Values of one call: special ones, or a draw of random ones.
struct value_kind {
  special_values special = special_values::none;
  std::uint64_t draw = 0;

  bool operator==(value_kind const&) const = default;
};

/// The values of each size, the simplest first.
inline constexpr std::array all_values{
    value_kind{special_values::zeros},    value_kind{special_values::ones},
    value_kind{special_values::none, 0},  value_kind{special_values::none, 1},
    value_kind{special_values::extremes}, value_kind{special_values::denormals},
    value_kind{special_values::nan},      value_kind{special_values::infinities}};

/// True for simpler values.
inline bool is_before(value_kind const& a, value_kind const& b) {
  return std::find(all_values.begin(), all_values.end(), a) <
         std::find(all_values.begin(), all_values.end(), b);
}

/// A case in words: "n = 701, zeros, alpha = 0.5".
inline std::string words(shape const& of, value_kind const& values, std::string const& scalars) {
  auto const kind = std::string{to_string(values.special)} +
                    (values.special == special_values::none ? " values" : "") +
                    (scalars.empty() ? "" : ", " + scalars);
  if (of.rank == 0) { return kind; }
  return (of.rank == 1 ? "n = " : "") + to_string(of) + ", " + kind;
}

}  // namespace assay::verify_detail
