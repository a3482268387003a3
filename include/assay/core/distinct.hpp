// SPDX-License-Identifier: Apache-2.0
/// @file
/// Short lists of texts in which each stands once, in the order in which they came.
#pragma once

#include <string>
#include <vector>

namespace assay {

/// Appends `text` unless the list has it; whether it was new.
inline bool add_distinct(std::vector<std::string>& to, std::string const& text) {
  for (auto const& known : to) {
    if (known == text) { return false; }
  }
  to.push_back(text);
  return true;
}

}  // namespace assay
