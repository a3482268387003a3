// SPDX-License-Identifier: Apache-2.0
/// @file
/// Literals for byte counts and shares.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstddef>

namespace assay {
inline namespace literals {

constexpr std::size_t operator""_KiB(unsigned long long count) { return count << 10U; }
constexpr std::size_t operator""_MiB(unsigned long long count) { return count << 20U; }
constexpr std::size_t operator""_GiB(unsigned long long count) { return count << 30U; }

/// A share of one: `1_percent` is 0.01.
constexpr double operator""_percent(unsigned long long count) {
  return static_cast<double>(count) / 100.0;
}
constexpr double operator""_percent(long double count) {
  return static_cast<double>(count) / 100.0;
}

}  // namespace literals
}  // namespace assay
