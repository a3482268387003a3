// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/report/table.hpp>

#include <sstream>

using namespace assay;

namespace {
std::string printed(report::table const& rows, std::size_t width = 100) {
  std::ostringstream out;
  rows.print(out, width);
  return out.str();
}
}  // namespace

TEST_CASE("numbers are aligned right, labels left, and lines have no trailing blanks") {
  report::table rows{{"arm", "clock", "time"}, {1}};
  rows.add({"a", "wall", "1 s"});
  rows.add({"", "gpu", "10 ms"});
  CHECK(printed(rows) ==
        "  arm  clock   time\n"
        "  a    wall     1 s\n"
        "       gpu    10 ms\n");
}

TEST_CASE("a label too wide for its column has a line of its own") {
  report::table rows{{"arm", "time"}};
  rows.add({"a label that is far too long", "1 s"});
  rows.add({"short", "2 s"});
  CHECK(printed(rows, 20) ==
        "  arm           time\n"
        "  a label that is far too long\n"
        "                 1 s\n"
        "  short          2 s\n");
}

TEST_CASE("a column without content can be dropped, and alignment stays with its column") {
  report::table rows{{"arm", "x", "clock", "y"}, {2}};
  rows.add({"a", "", "wall", ""});
  rows.add({"b", "", "g"});
  rows.drop_empty_columns();
  CHECK(printed(rows) ==
        "  arm  clock\n"
        "  a    wall\n"
        "  b    g\n");
}

TEST_CASE("a table with a head only is empty") {
  report::table rows{{"arm"}};
  CHECK(rows.empty());
  rows.add({"a"});
  CHECK(!rows.empty());
}
