// SPDX-License-Identifier: Apache-2.0
#include <assay/machine/file_lines.hpp>

#include "catch.hpp"
#include "folder.hpp"

#include <fstream>

using assay::machine::file_lines;

TEST_CASE("a file is read line by line, whatever their lengths") {
  assay::test::folder const folder;
  auto const path = folder.path() / "lines";
  std::string const long_line(100'000, 'x');
  std::ofstream{path} << "first\n\n" << long_line << "\nno end";
  CHECK(file_lines(path) == std::vector<std::string>{"first", "", long_line, "no end"});
}

TEST_CASE("a file that cannot be read has no lines") {
  CHECK(file_lines("/does/not/exist").empty());
}

TEST_CASE("files that the system makes as they are read have lines") {
  CHECK_FALSE(file_lines("/proc/self/maps").empty());
}
