// SPDX-License-Identifier: Apache-2.0
/// @file
/// The committed reports as text are what the committed JSON says.
#include <assay/report/json.hpp>
#include <assay/report/text.hpp>

#include "catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace {

std::string content(std::filesystem::path const& path) {
  std::ifstream file{path};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("each committed text report is its JSON, printed") {
  char const* const source = std::getenv("ASSAY_SOURCE_DIR");
  REQUIRE(source != nullptr);
  for (auto const& entry :
       std::filesystem::directory_iterator{std::filesystem::path{source} / "benchmarks/results"}) {
    auto text_path = entry.path();
    text_path.replace_extension(".txt");
    if (entry.path().extension() != ".json" || !exists(text_path)) { continue; }
    INFO(entry.path());
    std::ostringstream printed;
    auto const all = assay::report::parse_json(content(entry.path()));
    printed << assay::full(all);
    CHECK(printed.str() == content(text_path));
  }
}
