// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/report/trace_json.hpp>

#include <limits>
#include <optional>
#include <sstream>
#include <string>

using namespace assay;

TEST_CASE("JSON has an object for each row, with the decimals of the other formats") {
  using enum trace::cell_format;
  trace::table rows{"sample", "A Sample", {{"Share (%)", one_decimal}, {"Count"}, {"Name", text}}};
  rows.add(99.96, 1, "a \"b\"\n\x01");
  rows.add(std::nullopt, std::nullopt, std::nullopt);
  rows.add(std::numeric_limits<double>::infinity(), -5, "\xff not UTF-8");
  std::ostringstream out;
  report::json_table(out, rows);
  CHECK(out.str().find("{\"Share (%)\": 100.0, \"Count\": 1, \"Name\": ") != std::string::npos);
  auto const read = report::document::parse(out.str());
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
  CHECK(report::document::parse(out.str()).empty());
  CHECK(out.str() == "[]\n");
}
