// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "copy_strategies/options.hpp"
#include "copy_strategies/report.hpp"

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

cli::named_comparison cell(std::string const& where, double ratio, measure::verdict outcome) {
  measure::comparison made;
  for (char const* label : {"regular", "cp_async", "bulk"}) {
    measure::variant_result arm;
    arm.label = label;
    made.variants.push_back(arm);
  }
  made.findings = {found(1.0, measure::verdict::equivalent, 1), found(ratio, outcome, 2)};
  return {"sum, " + where, made};
}

std::string joined(std::vector<std::string> const& lines) {
  std::string all;
  for (auto const& each : lines) { all += each + '\n'; }
  return all;
}

}  // namespace

TEST_CASE("what wins, loses, and does not differ is said with its size", "[examples]") {
  std::vector<cli::named_comparison> const cells{
      cell("4 SMs", 0.5, measure::verdict::faster), cell("8 SMs", 1.25, measure::verdict::slower),
      cell("9 SMs", 1.0, measure::verdict::inconclusive)};
  auto const lines = joined(summary_lines(cells));
  CHECK_THAT(lines, contains("sum, 4 SMs: bulk wins, +100.0 % of the rate"));
  CHECK_THAT(lines, contains("sum, 8 SMs: bulk loses, -20.0 % of the rate"));
  CHECK_THAT(lines, contains("Nothing differs by more than the margin: sum, 4 SMs (cp_async); sum,"
                             " 8 SMs (cp_async); sum, 9 SMs (cp_async)"));
  CHECK_THAT(lines, contains("Not settled: sum, 9 SMs (bulk, INCONCLUSIVE)"));
}

TEST_CASE("rows are printed with their prediction", "[examples]") {
  using examples::little_bound;
  std::vector<copy_row> const rows{
      {"sum", "copy::bulk<4>", 8, true, 8 * 65'536.0, 1.0e12, little_bound::sm, 0.9e12, 4.5e12},
      {"sum", "copy::bulk<4>", 132, false, 132 * 196'608.0, 4.5e12, little_bound::memory, 4.4e12,
       4.5e12}};
  std::ostringstream out;
  print_copy_rows(out, rows);
  CHECK_THAT(out.str(), contains("1.00 TB/s  SM       900 GB/s"));
  CHECK_THAT(out.str(), contains("4.50 TB/s  memory"));
  CHECK_THAT(out.str(), contains("8 SMs"));
  CHECK_THAT(out.str(), contains("all SMs full"));
  CHECK_THAT(out.str(), contains("<= 192 KiB"));
  CHECK_THAT(out.str(), contains("20.0 %"));
  examples::little_terms const terms{500e-9, 1e-6, 4.5e12, 1e11};
  auto const lines = joined(little_lines(terms, 132));
  CHECK_THAT(lines, contains("reaches 4.50 TB/s, one of a few SMs 100 GB/s"));
  CHECK_THAT(lines, contains("at least 2.15 MiB must be in flight, 16.6 KiB on each of 132 SMs"));
  CHECK_THAT(lines, contains("for 100 GB/s on one of them 48.8 KiB"));
}

TEST_CASE("a row is predicted by the least of latency, SMs and memory", "[examples]") {
  examples::little_terms const terms{500e-9, 1e-6, 4e12, 1e11};
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

TEST_CASE("options have defaults by the machine, and are refused by name", "[examples]") {
  auto const parsed = [](std::vector<std::string> words, bool quick = false) {
    copy_options options;
    CLI::App app;
    options.add_to(app);
    std::ranges::reverse(words);
    app.parse(words);
    return options.read(quick, 132);
  };
  CHECK(parsed({}).sms == std::vector<int>{4, 16, 64, 132, 0});
  CHECK(parsed({}).bytes == 256 << 20);
  CHECK(parsed({}).row_bytes.size() == 4);
  CHECK(parsed({}).workloads.size() == 4);
  CHECK(parsed({"--sms", "8,0"}).sms == std::vector<int>{8, 0});
  CHECK(parsed({"--workload", "transpose"}).workloads == std::vector<std::string>{"transpose"});
  CHECK(parsed({}, true).sms == std::vector<int>{4, 0});
  CHECK(parsed({}, true).bytes == 32 << 20);
  CHECK(parsed({"--bytes", "1MiB"}, true).bytes == 1 << 20);
  CHECK_THAT(test::message_of([&] { parsed({"--sms", "133"}); }), contains("--sms 133"));
  CHECK_THAT(test::message_of([&] { parsed({"--bytes", "1B"}); }), contains("--bytes 1"));
  CHECK_THAT(test::message_of([&] { parsed({"--workload", "sum"}); }), contains("'sum'"));
}
