// SPDX-License-Identifier: Apache-2.0
/// @file
/// Needs what assay::cli brings: CLI11, and nlohmann_json by its declarations. Experiments compile
/// all of `cli::run`.
#include <assay/cli/guarded.hpp>
#include <assay/report/document.hpp>

#include <iostream>

int main() {
  char const* const words[] = {"consumer", "--help"};
  CLI::App app{"A program of its own"};
  return assay::cli::guarded(app, 2, words, [] { return 1; }, std::cout, std::cerr);
}
