// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/report/trace_table.hpp>

#include <nlohmann/json.hpp>

#include <limits>
#include <optional>
#include <sstream>
#include <string>

using namespace assay;

namespace {

trace::table sample() {
  using enum trace::cell_format;
  trace::table rows{
      "sample",
      "A Sample",
      {{"Share (%)", one_decimal}, {"Count"}, {"MB", three_decimals}, {"Name", text}}};
  rows.add(99.96, 1, 0.0004, "a");
  rows.add(std::nullopt, -12, 1234.5, "name, \"two\"");
  return rows;
}

std::string printed(trace::table const& rows, std::size_t widest = 100) {
  std::ostringstream out;
  report::text(out, rows, widest);
  return out.str();
}

}  // namespace

TEST_CASE("text stands as nsys stats prints it: heads over dashes") {
  CHECK(printed(sample()) ==
        " ** A Sample (sample):\n"
        "\n"
        " Share (%)  Count        MB  Name\n"
        " ---------  -----  --------  -----------\n"
        "     100.0      1     0.000  a\n"
        "              -12  1234.500  name, \"two\"\n");
}

TEST_CASE("names are cut by characters, not bytes, and stay on their line") {
  using enum trace::cell_format;
  trace::table rows{"sample", "A Sample", {{"Name", text}}};
  rows.add("\xce\xb1\xce\xb2\xce\xb3\xce\xb4");
  rows.add("\xce\xb1\xce\xb2\xce\xb3\xce\xb4\xce\xb5");
  rows.add("a\nb");
  rows.add(std::string(3000, 'x'));
  CHECK(printed(rows, 4) ==
        " ** A Sample (sample):\n\n"
        " Name\n"
        " -------\n"
        " \xce\xb1\xce\xb2\xce\xb3\xce\xb4\n"
        " \xce\xb1\xce\xb2\xce\xb3\xce\xb4...\n"
        " a b\n"
        " xxxx...\n");
}

TEST_CASE("control characters of names reach a terminal as symbols") {
  using enum trace::cell_format;
  trace::table rows{"sample", "A Sample", {{"Name", text}}};
  rows.add("\x1b[31mred\x7f\xc2\x9bx\xc3\xa9");
  CHECK(printed(rows) ==
        " ** A Sample (sample):\n\n"
        " Name\n"
        " -------------\n"
        " \xe2\x90\x9b[31mred\xe2\x90\xa1\xef\xbf\xbd\xef\xbf\xbdx\xc3\xa9\n");  // ESC, DEL, two
                                                                                 // bytes of C1
}

TEST_CASE("exact ties are rounded away from zero, as nsys rounds them") {
  using enum trace::cell_format;
  trace::table rows{"ties", "Ties", {{"A", one_decimal}, {"B", three_decimals}}};
  rows.add(86953.25, 0.0625);
  rows.add(-0.25, 1.0625);
  rows.add(0.75, 0.1875);
  rows.add(0.35, 1.0005);  // no ties: the doubles lie beside them
  std::ostringstream out;
  report::csv_table(out, rows);
  CHECK(out.str() == "A,B\n86953.3,0.063\n-0.3,1.063\n0.8,0.188\n0.3,1.000\n");
}

TEST_CASE("a table without rows still has its head") {
  CHECK(printed({"empty", "Empty", {{"A"}}}) == " ** Empty (empty):\n\n A\n -\n");
}

TEST_CASE("CSV quotes what it must and leaves missing cells empty") {
  std::ostringstream out;
  report::csv_table(out, sample());
  CHECK(out.str() ==
        "Share (%),Count,MB,Name\n"
        "100.0,1,0.000,a\n"
        ",-12,1234.500,\"name, \"\"two\"\"\"\n");
}

TEST_CASE("JSON has an object for each row, with the decimals of the other formats") {
  using enum trace::cell_format;
  trace::table rows{"sample", "A Sample", {{"Share (%)", one_decimal}, {"Count"}, {"Name", text}}};
  rows.add(99.96, 1, "a \"b\"\n\x01");
  rows.add(std::nullopt, std::nullopt, std::nullopt);
  rows.add(std::numeric_limits<double>::infinity(), -5, "\xff not UTF-8");
  std::ostringstream out;
  report::json_table(out, rows);
  CHECK(out.str().find("{\"Share (%)\": 100.0, \"Count\": 1, \"Name\": ") != std::string::npos);
  auto const read = nlohmann::json::parse(out.str());
  REQUIRE(read.size() == 3);
  CHECK(read[0]["Name"] == "a \"b\"\n\x01");
  CHECK(read[0]["Share (%)"] == 100.0);
  CHECK(
      (read[1]["Share (%)"].is_null() && read[1]["Count"].is_null() && read[1]["Name"].is_null()));
  CHECK(read[2]["Share (%)"].is_null());
  CHECK(read[2]["Name"] == "\xEF\xBF\xBD not UTF-8");
}

TEST_CASE("a table without rows is an empty array") {
  std::ostringstream out;
  report::json_table(out, {"empty", "Empty", {{"A"}}});
  CHECK(nlohmann::json::parse(out.str()).empty());
  CHECK(out.str() == "[]\n");
}
