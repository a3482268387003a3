// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "report/sample.hpp"

#include <assay/core/csv.hpp>
#include <assay/report/csv.hpp>
#include <assay/report/words.hpp>

#include <map>
#include <sstream>

using namespace assay;

namespace {

/// A reader of RFC 4180 that knows nothing of the writer: records of fields.
std::vector<std::vector<std::string>> parsed(std::string const& text) {
  std::vector<std::vector<std::string>> records{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const each = text[i];
    auto& field = records.back().back();
    if (quoted && each == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      field += text[++i];
    } else if (each == '"') {
      quoted = !quoted;
    } else if (!quoted && each == ',') {
      records.back().emplace_back();
    } else if (!quoted && each == '\n') {
      records.push_back({""});
    } else {
      field += each;
    }
  }
  records.pop_back();
  return records;
}

using row = std::map<std::string, std::string>;

std::vector<row> rows(void (*print)(std::ostream&, measure::comparison const&),
                      measure::comparison const& all) {
  std::ostringstream out;
  print(out, all);
  auto const records = parsed(out.str());
  std::vector<row> result;
  for (std::size_t i = 1; i < records.size(); ++i) {
    REQUIRE(records[i].size() == records[0].size());
    row each;
    for (std::size_t k = 0; k < records[0].size(); ++k) { each[records[0][k]] = records[i][k]; }
    result.push_back(each);
  }
  return result;
}

}  // namespace

TEST_CASE("fields are quoted only where they have to be") {
  using csv::field;
  CHECK(field(std::string_view{"plain text"}) == "plain text");
  CHECK(field(std::string_view{"a,b"}) == "\"a,b\"");
  CHECK(field(std::string_view{"say \"x\""}) == "\"say \"\"x\"\"\"");
  CHECK(field(std::string_view{"two\nlines"}) == "\"two\nlines\"");
  CHECK(field(std::string_view{}).empty());
  CHECK(field(0.1) == "0.1");
  CHECK(field(std::numeric_limits<double>::quiet_NaN()).empty());
  CHECK(field(std::numeric_limits<double>::infinity()).empty());
  CHECK(field(true) == "true");
  CHECK(field(std::optional<std::uint64_t>{}).empty());
  CHECK(field(std::optional<std::uint64_t>{7}) == "7");
}

TEST_CASE("findings survive CSV with numbers and sentence") {
  auto all = test::sample();
  all.findings = {
      test::found("a, \"b\"", measure::verdict::slower, {1.0 / 3, 0.1, 1.25}, {-1, 1, 0, 0}),
      test::found("c", measure::verdict::unproven, {})};
  all.findings[1].reason = "line one\nline two";
  auto const read = rows(report::csv::findings, all);
  REQUIRE(read.size() == 2);
  CHECK(read[0].at("contrast") == "a, \"b\"");
  CHECK(read[0].at("verdict") == "SLOWER");
  CHECK(std::stod(read[0].at("ratio")) == 1.0 / 3);
  CHECK(read[0].at("primary") == "true");
  CHECK(read[0].at("sentence") == report::sentence(all.findings[0], all));
  CHECK(read[1].at("high").empty());
  CHECK(read[1].at("typical_ratio").empty());
  all.findings[1].typical_ratio = 1.5;
  CHECK(rows(report::csv::findings, all)[1].at("typical_ratio") == "1.5");
  CHECK(read[1].at("reason") == "line one\nline two");
}

TEST_CASE("variants have one record per clock; what is unknown is empty") {
  auto all = test::sample();
  all.variants[0].submission = measure::submission_profile{{1, 2, 3, 4}, {5, 6, 7, 8}, {}, {}, 400};
  all.variants[0].memory = measure::memory_profile{10, 11, 12, 13, {}, 15, {}};
  auto const read = rows(report::csv::variants, all);
  REQUIRE(read.size() == 12);
  CHECK(read[1].at("variant") == "pool{10 GiB} + concurrent");
  CHECK(read[1].at("clock") == "gpu");
  CHECK(std::stod(read[1].at("q3")) == 1.0e-3 * 1.01);
  CHECK(read[1].at("count") == "64");
  CHECK(read[1].at("total_p99_ns") == "2");
  CHECK(read[1].at("allocation_mean_ns") == "8");
  CHECK(read[1].at("deallocations") == "11");
  CHECK(read[1].at("allocated_bytes") == "12");
  CHECK(read[1].at("reserved_bytes").empty());
  CHECK(read[1].at("reused_blocks") == "15");
  CHECK(read[11].at("total_p50_ns").empty());
  CHECK(read[11].at("allocations").empty());
  for (auto const* unknown : {"slow_share", "slow_seconds", "results"}) {
    CHECK(read[1].at(unknown).empty());
  }
  all.variants[0].slow_share = 0.125;
  all.variants[0].slow_seconds = 2;
  all.variants[0].results = measure::checks::part;
  auto const known = rows(report::csv::variants, all);
  CHECK(known[0].at("slow_share") == "0.125");
  CHECK(known[0].at("slow_seconds") == "2");
  CHECK(known[0].at("results") == "checked in part");
}

TEST_CASE("every cell is there, in order, exactly") {
  auto const all = test::sample();
  auto const read = rows(report::csv::cells, all);
  REQUIRE(read.size() == 4 * 2 * 2);
  CHECK(read[1].at("cell") == "1");
  CHECK(read[1].at("clock") == "wall");
  CHECK(std::stod(read[1].at("seconds")) == all.variants[0].cells[0][1]);
  CHECK(read.back().at("variant") == "async + serialized");
}
