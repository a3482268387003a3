// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counts the elements that a page or a chart has of a kind.
#pragma once

#include <cstddef>
#include <string>

namespace assay::test {

/// The number of places where `part` begins in `in`.
inline std::size_t count_of(std::string const& part, std::string const& in) {
  std::size_t found = 0;
  for (auto at = in.find(part); at != std::string::npos; at = in.find(part, at + 1)) { ++found; }
  return found;
}

}  // namespace assay::test
