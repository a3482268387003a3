// SPDX-License-Identifier: Apache-2.0
#include <assay/cli/run.hpp>

int main() {
  char const* const words[] = {"consumer", "--list"};
  auto const nothing = [](assay::cli::options const& chosen) {
    return chosen.list ? std::nullopt : std::optional<assay::comparison>{assay::comparison{}};
  };
  return assay::cli::run(2, words, {"A program of its own"}, [](CLI::App&) {}, nothing);
}
