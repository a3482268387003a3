// SPDX-License-Identifier: Apache-2.0
/// @file
/// The lines of a small file, such as those that Linux keeps under `/proc`.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace assay::machine {

/// The lines of a file without their ends; none where it cannot be read.
inline std::vector<std::string> file_lines(std::string const& path) {
  // Not an ifstream: <fstream> would be the largest include of the front door.
  std::vector<std::string> lines;
  auto* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) { return lines; }
  char* text = nullptr;
  std::size_t room = 0;
  while (::getline(&text, &room, file) >= 0) {
    lines.emplace_back(text);
    if (lines.back().ends_with('\n')) { lines.back().pop_back(); }
  }
  std::free(text);
  std::fclose(file);
  return lines;
}

}  // namespace assay::machine
