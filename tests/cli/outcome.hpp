// SPDX-License-Identifier: Apache-2.0
/// @file
/// The outcome of a program that a test runs within its own process.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace assay::test {

/// The exit code of a program, and what it printed.
struct outcome {
  int code = -1;
  std::string out, err;
};

/// Calls `program(argc, argv, out, err)` with these words after its name.
template <class Program>
outcome outcome_of(std::vector<std::string> const& words, Program const& program) {
  std::vector<char const*> argv{"program"};
  for (auto const& word : words) { argv.push_back(word.c_str()); }
  std::ostringstream out;
  std::ostringstream err;
  auto const code = program(static_cast<int>(argv.size()), argv.data(), out, err);
  return {code, out.str(), err.str()};
}

}  // namespace assay::test
