// SPDX-License-Identifier: Apache-2.0
// assay-test-alone: it sets the locale of its process

#include "catch.hpp"
#include "comma_locale.hpp"
#include "report/sample.hpp"
#include "report/traced_sample.hpp"
#include "trace/files.hpp"
#include "trace/golden.hpp"

#include <assay/chrome/chrome.hpp>
#include <assay/measure/guards.hpp>
#include <assay/nsys/reports_timeline.hpp>
#include <assay/page/page.hpp>
#include <assay/report/csv.hpp>
#include <assay/report/json.hpp>
#include <assay/report/junit.hpp>
#include <assay/report/markdown.hpp>
#include <assay/report/text.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/transfer/chunk_plan.hpp>

#include <map>
#include <sstream>
#include <string>

using namespace assay;

namespace {

template <class... Of>
std::string printed(void (*print)(std::ostream&, Of const&...), Of const&... of) {
  std::ostringstream text;
  print(text, of...);
  return text.str();
}

/// All that is written to files, by its format.
std::map<std::string, std::string> all_formats() {
  std::map<std::string, std::string> made;
  auto all = test::sample();
  all.variants.front().bytes = 1.2345e9;
  all.seed = 1'234'567;
  auto const traced = test::traced_comparison();
  made["json"] = report::json(all) + report::json(traced);
  made["csv findings"] = printed(report::csv::findings, all);
  made["csv variants"] = printed(report::csv::variants, all);
  made["csv cells"] = printed(report::csv::cells, all);
  made["text"] = printed(report::text, all) + printed(report::text, traced);
  made["markdown"] = report::markdown(all) + report::markdown(traced);
  made["junit"] = report::junit({&all, &traced});
  made["html and svg"] = report::page({{all}, {.of = traced, .baseline = &traced}});
  auto const trace = test::golden::everything();
  test::folder const here;
  trace::write_chrome(trace, here / "t.json");
  made["chrome"] = test::content(here / "t.json");
  for (auto const& table : {trace::gpu_time_sum(trace), trace::overlap_sum(trace)}) {
    made["csv of a table"] += printed(report::csv_table, table);
    made["json of a table"] += printed(report::json_table, table);
  }
  made["words"] =
      measure::percent_text(0.012345) + measure::digits_text(1234.5) + stats::number_text(0.05);
  return made;
}

}  // namespace

TEST_CASE("files are the same under a locale with a decimal comma, of streams and of C") {
  test::check_same_under_commas(all_formats);
}
