// SPDX-License-Identifier: Apache-2.0
#include "support/strategy_rows.hpp"
#include "catch.hpp"

#include <assay/report/json_values.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

using namespace assay;
using namespace assay::examples;
using assay::test::contains;

namespace {

trace::kernel_run kernel(std::int32_t device, std::uint32_t stream, std::int64_t begin,
                         std::int64_t end, std::uint32_t correlation) {
  trace::kernel_run made;
  made.when = {begin, end};
  made.where.device = device;
  made.where.stream = stream;
  made.where.correlation = correlation;
  return made;
}

trace::api_call call(std::int64_t begin, std::int64_t end, std::uint32_t correlation) {
  trace::api_call made;
  made.when = {begin, end};
  made.correlation = correlation;
  return made;
}

measure::comparison comparison_of(std::string const& name, double ratio) {
  measure::comparison made;
  made.variants.resize(2);
  made.variants[0].label = name + " control";
  made.variants[1].label = name + " variant";
  measure::finding found;
  found.contrast_name = name;
  found.weights = {-1, 1};
  found.effect.ratio = ratio;
  made.findings = {found};
  made.notes = {"same", name};
  made.epochs = 8;
  made.seconds = 2;
  return made;
}

strategy_findings sample() {
  strategy_findings made;
  made.sweep_bytes = 0x1p26;
  made.rows.resize(2);
  made.rows[0] = {0x1p20, "1", "copy::regular<16, 4>", 10e-6, 104.9, {}, ""};
  made.rows[1] = {0x1p20, "1", "copy::bulk<4>", 9e-6, 116.5, {0.9, 0.85, 0.95, 0.95}, "FASTER"};
  made.blocks = {{1, "1", "copy::regular<16, 4>", 1e-3, 9e-4, 2e-3, 67.1},
                 {1, "1", "copy::bulk<4>", 5e-4, 4e-4, 6e-4, 134.2},
                 {8, "1", "copy::bulk<4>", 2e-4, 1e-4, 3e-4, 335.5}};
  made.launches = {{"regular, in a graph", 100, 100, 4e-6, 2e-7, -1e-6, 0.5}};
  return made;
}

}  // namespace

TEST_CASE("a trace's launches are counted, and what is between them", "[examples]") {
  trace::model made;
  // Two ranks on devices of their own; on one the second launch begins before the first has ended.
  made.kernels = {kernel(0, 7, 6000, 8000, 2), kernel(0, 7, 1000, 5000, 1),
                  kernel(1, 7, 1000, 5000, 3), kernel(1, 7, 4000, 8000, 4)};
  made.calls = {call(0, 500, 1), call(500, 1500, 2), call(0, 700, 3), call(700, 900, 4),
                call(0, 9000, 99)};  // this one launched nothing
  auto const row = launches_of(made, "x", 4);
  CHECK(row.variant == "x");
  CHECK(row.launches() == 1);
  CHECK(row.kernel_seconds == Approx(3.5e-6));
  CHECK(row.call_seconds == Approx(600e-9));
  CHECK(row.gap_seconds == Approx(0));  // 1 us between, and 1 us of overlap
  CHECK(row.overlapped_share == 0.5);
  CHECK(launches_of(made, "two kernels each", 2).launches() == 2);

  // Of three successions on two streams one overlaps.
  made.kernels.push_back(kernel(0, 7, 9000, 9500, 6));
  CHECK(launches_of(made, "x", 5).overlapped_share == Approx(1.0 / 3));

  // One call that launched a graph of two: each of its kernels costs half of it.
  made.kernels = {kernel(0, 7, 0, 10, 5), kernel(0, 7, 20, 30, 5)};
  made.calls = {call(0, 1000, 5)};
  CHECK(launches_of(made, "graph", 2).call_seconds == Approx(500e-9));
  CHECK(launches_of(made, "graph", 2).gap_seconds == Approx(10e-9));

  auto const nothing = launches_of({}, "none", 0);
  CHECK(nothing.launches() == 0);
  CHECK(nothing.call_seconds == 0);
}

TEST_CASE("comparisons put behind each other keep their contrasts apart", "[examples]") {
  auto all = comparison_of("a", 1.5);
  all.alpha = 0.1;  // of which each had a third
  append(all, comparison_of("b", 0.5));
  append(all, comparison_of("c", 1.0));
  REQUIRE(all.variants.size() == 6);
  CHECK(all.variants[2].label == "b control");
  REQUIRE(all.findings.size() == 3);
  CHECK(all.findings[0].weights == std::vector<double>{-1, 1, 0, 0, 0, 0});
  CHECK(all.findings[1].weights == std::vector<double>{0, 0, -1, 1, 0, 0});
  CHECK(all.findings[2].weights == std::vector<double>{0, 0, 0, 0, -1, 1});
  CHECK(all.findings[1].effect.ratio == 0.5);
  CHECK(all.findings[0].effect.confidence == Approx(0.9));
  CHECK(all.findings[2].effect.confidence == Approx(0.9));
  CHECK(all.notes == std::vector<std::string>{"same", "a", "b", "c"});
  CHECK(all.seconds == 6);
  auto failed = comparison_of("d", 1);
  failed.failure = "why";
  append(all, std::move(failed));
  CHECK(all.failure == "why");
}

TEST_CASE("busbw of an all-reduce counts what a ring carries", "[examples]") {
  CHECK(bus_gigabytes(1e9, 1, 2) == Approx(1));
  CHECK(bus_gigabytes(1e9, 0.5, 4) == Approx(3));
  CHECK(bus_gigabytes(1e9, 0, 4) == 0);
}

TEST_CASE("strategies are written as tables, CSV and JSON", "[examples]") {
  auto const found = sample();
  std::ostringstream out;
  print_strategies(out, found);
  print_blocks(out, found);
  print_launches(out, found);
  CHECK_THAT(out.str(), contains("-10.00") && contains("-15.00 .. -5.00") && contains("FASTER"));
  CHECK_THAT(out.str(), contains("95 % interval"));
  CHECK_THAT(out.str(), contains("335.5") && contains("67.1") && contains("64.0 MiB"));
  CHECK_THAT(out.str(), contains("50 %") && contains("-1.00") && contains("0.20"));

  auto const rows = strategies_csv(found);
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 3);
  CHECK_THAT(rows, contains("1048576,1,copy::bulk<4>,9e-06,116.5,0.9,0.85,0.95,FASTER"));
  auto const blocks = blocks_csv(found);
  CHECK(std::count(blocks.begin(), blocks.end(), '\n') == 4);
  CHECK_THAT(blocks, contains("67108864,8,1,copy::bulk<4>,2e-04,1e-04,3e-04,335.5"));
  auto const json = strategies_json(found);
  CHECK(json["strategies"][1]["verdict"] == "FASTER");
  CHECK_FALSE(json["strategies"][0].contains("verdict"));
  CHECK(json["blocks"].size() == 3);
  CHECK(json["launches"][0]["launches_per_operation"] == 1.0);

  std::ostringstream none;
  print_blocks(none, {});
  print_launches(none, {});
  strategy_findings untraced;
  untraced.launches = {{"regular, launched", 100, 0, 0, 0, 0, 0, "a profiler has CUPTI"}};
  std::ostringstream told;
  print_launches(told, untraced);
  CHECK_THAT(told.str(),
             contains("-: the trace has no kernels: a profiler has CUPTI") && !contains("0.00"));
  CHECK(strategies_json(untraced)["launches"][0]["lacks"] == "a profiler has CUPTI");
  CHECK(none.str().empty());
}
