// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "support/copy_parameters.hpp"
#include "support/copy_rows.hpp"

#include <assay/report/json_values.hpp>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::examples;
using assay::test::contains;

namespace {

measure::finding found(double ratio, measure::verdict outcome, std::size_t variant) {
  measure::finding one;
  one.contrast_name = "x";
  one.outcome = outcome;
  one.effect = {ratio, ratio * 0.99, ratio * 1.01, 0.95};
  one.weights = {-1, 0, 0};
  one.weights[variant] = 1;
  return one;
}

copy_cell cell(std::string const& where, double ratio, measure::verdict outcome) {
  copy_cell made{"sum", where, {}};
  for (char const* label : {"regular", "cp_async", "bulk"}) {
    measure::variant_result arm;
    arm.label = label;
    made.found.variants.push_back(arm);
  }
  made.found.findings = {found(1.0, measure::verdict::equivalent, 1), found(ratio, outcome, 2)};
  made.found.notes = {"a note"};
  made.found.reasons = {{"Why?", {"traced"}}};
  made.found.seconds = 2;
  made.found.epochs = 8;
  return made;
}

std::string joined(std::vector<std::string> const& lines) {
  std::string all;
  for (auto const& each : lines) { all += each + '\n'; }
  return all;
}

}  // namespace

TEST_CASE("comparisons become one with their weights over its arms", "[examples]") {
  auto const all = merged(
      {cell("4 SMs", 0.5, measure::verdict::faster), cell("8 SMs", 1.25, measure::verdict::slower)},
      "title");
  REQUIRE(all.variants.size() == 6);
  CHECK(all.variants[4].label == "sum, 8 SMs: cp_async");
  REQUIRE(all.findings.size() == 4);
  CHECK(all.findings[3].weights == std::vector<double>{0, 0, 0, -1, 0, 1});
  CHECK(all.findings[0].weights == std::vector<double>{-1, 1, 0, 0, 0, 0});
  CHECK(all.findings[3].contrast_name == "sum, 8 SMs: x");
  CHECK(variant_of(all, all.findings[3]) == "sum, 8 SMs: bulk");
  CHECK(all.notes.size() == 1);
  REQUIRE(all.reasons.size() == 2);
  CHECK(all.reasons[1].question == "sum, 8 SMs: Why?");
  CHECK(all.reasons[1].lines == std::vector<std::string>{"traced"});
  CHECK(all.seconds == 4);
  CHECK(all.title == "title");
  CHECK(all.failure.empty());

  auto broken = cell("8 SMs", 1, measure::verdict::wrong_answer);
  broken.found.failure = "lane 0 is wrong";
  CHECK(merged({cell("4 SMs", 1, measure::verdict::equivalent), broken}, "").failure ==
        "sum, 8 SMs: lane 0 is wrong");
}

TEST_CASE("what wins, loses, and does not differ is said with its size", "[examples]") {
  std::vector<copy_cell> const cells{cell("4 SMs", 0.5, measure::verdict::faster),
                                     cell("8 SMs", 1.25, measure::verdict::slower),
                                     cell("9 SMs", 1.0, measure::verdict::inconclusive)};
  auto const verdicts = joined(verdict_lines(cells));
  CHECK_THAT(verdicts, contains("sum, 4 SMs: cp_async EQUIVALENT, 1.000x the rate"));
  CHECK_THAT(verdicts, contains("bulk FASTER, 2.000x the rate [1.980, 2.020]"));
  auto const lines = joined(summary_lines(cells));
  CHECK_THAT(lines, contains("sum, 4 SMs: bulk wins, +100.0 % of the rate"));
  CHECK_THAT(lines, contains("sum, 8 SMs: bulk loses, -20.0 % of the rate"));
  CHECK_THAT(lines, contains("Nothing differs by more than the margin: sum, 4 SMs (cp_async); sum,"
                             " 8 SMs (cp_async); sum, 9 SMs (cp_async)"));
  CHECK_THAT(lines, contains("Not settled: sum, 9 SMs (bulk, INCONCLUSIVE)"));
}

TEST_CASE("rows are printed and written with their prediction", "[examples]") {
  using machine::little_bound;
  std::vector<copy_row> const rows{
      {"sum", "copy::bulk<4>", 8, 1, true, 8 * 65'536.0, 1.0e12, little_bound::sm, 0.9e12, 4.5e12},
      {"sum", "copy::bulk<4>", 132, 3, false, 132 * 196'608.0, 4.5e12, little_bound::memory, 4.4e12,
       4.5e12}};
  std::ostringstream out;
  print_copy_rows(out, rows);
  CHECK_THAT(out.str(), contains("1.00 TB/s  SM       900 GB/s"));
  CHECK_THAT(out.str(), contains("4.50 TB/s  memory"));
  CHECK_THAT(out.str(), contains("8 SMs"));
  CHECK_THAT(out.str(), contains("all SMs full"));
  CHECK_THAT(out.str(), contains("<= 192 KiB"));
  CHECK_THAT(out.str(), contains("20.0 %"));
  CHECK_THAT(copy_rows_csv(rows),
             contains("\"sum\",\"copy::bulk<4>\",8,1,1,524288,1000000000000,SM,900000000000,"));
  machine::little_terms const terms{500e-9, 1e-6, 4.5e12, 1e11};
  auto const json = copy_rows_json(rows, terms);
  CHECK(json["rows"].size() == 2);
  CHECK(json["rows"][1]["capped"] == false);
  CHECK(json["rows"][1]["bound"] == "memory");
  CHECK(json["latency_seconds"] == 500e-9);
  CHECK(json["sm_bytes_per_second"] == 1e11);
  auto const lines = joined(little_lines(terms, 132));
  CHECK_THAT(lines, contains("reaches 4.50 TB/s, one of a few SMs 100 GB/s"));
  CHECK_THAT(lines, contains("at least 2.15 MiB must be in flight, 16.6 KiB on each of 132 SMs"));
  CHECK_THAT(lines, contains("for 100 GB/s on one of them 48.8 KiB"));
}

TEST_CASE("a row is predicted by the least of latency, SMs and memory", "[examples]") {
  machine::little_terms const terms{500e-9, 1e-6, 4e12, 1e11};
  auto const predicted = [&](int sms, double in_flight, double limit, double mix, bool random) {
    copy_row row;
    row.sms = sms;
    row.in_flight = in_flight;
    row.limit = limit;
    predict(row, terms, mix, random);
    return std::pair{row.predicted, std::string{to_string(row.bound)}};
  };
  CHECK(predicted(4, 1e5, 4e12, 1, false) == std::pair{2e11, std::string{"latency"}});
  CHECK(predicted(4, 1e5, 4e12, 1, true) == std::pair{1e11, std::string{"latency"}});
  CHECK(predicted(4, 9e5, 4e12, 1, false) == std::pair{4e11, std::string{"SM"}});
  CHECK(predicted(4, 9e5, 4e12, 2, false) == std::pair{8e11, std::string{"SM"}});
  CHECK(predicted(100, 9e6, 4e12, 1, false) == std::pair{4e12, std::string{"memory"}});
  // Reading half of what is moved, it is the copy's limit that ends it.
  CHECK(predicted(100, 9e5, 3e12, 2, false) == std::pair{3e12, std::string{"memory"}});
}

TEST_CASE("every workload and length of rows is judged on every number of SMs", "[examples]") {
  cli::options chosen;
  copy_parameters all;
  all.settle(chosen, 132);
  CHECK(all.sms == std::vector<int>{4, 16, 64, 132, 0});
  CHECK(all.cells() == 35);  // 3 workloads, and rows of 4 lengths

  copy_parameters gathers{.sms = {8, 0}, .workloads = {"row_gather"}};
  gathers.settle(chosen, 132);
  CHECK(gathers.cells() == 8);
  copy_parameters sums{.workloads = {"streaming_sum", "streaming_sum"}};
  sums.settle(chosen, 132);
  CHECK(sums.cells() == 5);

  chosen.quick = true;
  copy_parameters quick;
  quick.settle(chosen, 132);
  CHECK(quick.cells() == 8);
  CHECK(quick.bytes_text == "32MiB");
  copy_parameters tiny{.bytes_text = "1MiB"};
  tiny.settle(chosen, 132);
  CHECK(tiny.bytes() == 1 << 20);
  copy_parameters beyond{.sms = {133}};
  CHECK_THAT(test::message_of([&] { beyond.settle(chosen, 132); }), contains("--sms"));
}
