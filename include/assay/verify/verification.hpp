// SPDX-License-Identifier: Apache-2.0
/// @file
/// `verification`: the result of `verify`.
#pragma once

#include <assay/arrays/tolerance.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace assay {

/// The result of `verify`: true where all calls were right.
struct verification {
  /// The first failure in words, with the smallest size that fails and how to repeat it; empty
  /// without one.
  std::string failure;
  int cases = 0;                      ///< sizes times kinds of values that were right
  worst_error worst;                  ///< among all right results
  std::string worst_at;               ///< its element, the size and the values
  std::vector<std::string> left_out;  ///< sizes that were not tried, with the reason
  std::vector<std::string> notes;     ///< results that were not checked
  double seconds = 0;

  explicit operator bool() const noexcept { return failure.empty() && cases > 0; }
};

/// Prints the failure, or the number of cases; what was left out; the notes.
std::ostream& operator<<(std::ostream& out, verification const& of);

}  // namespace assay
