// SPDX-License-Identifier: Apache-2.0
/// @file
/// `add_distinct`: a list of texts without duplicates.
#pragma once

#include <assay/core/requirements.hpp>

#include <string>
#include <vector>

namespace assay {

/// Appends `text` unless the list has it. Returns true if the text was new.
inline bool add_distinct(std::vector<std::string>& to, std::string const& text) {
  for (auto const& known : to) {
    if (known == text) { return false; }
  }
  to.push_back(text);
  return true;
}

}  // namespace assay
