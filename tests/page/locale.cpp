// SPDX-License-Identifier: Apache-2.0
// assay-test-alone: it sets the locale of its process

#include "catch.hpp"
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

#include <clocale>
#include <cstddef>
#include <cstdio>
#include <locale>
#include <map>
#include <sstream>
#include <string>
#include <utility>

using namespace assay;

namespace {

/// Numbers as in `1.234,5`.
struct commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

std::string printf_half() {
  char text[8];
  (void)std::snprintf(text, sizeof text, "%.1f", 0.5);
  return text;
}

/// Sets both locales of the process, of streams and of C, while it lives.
class comma_locale {
 public:
  comma_locale() : streams_{std::locale::global({std::locale::classic(), new commas})} {
    for (auto const* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "de_DE"}) {
      if (std::setlocale(LC_ALL, name) != nullptr) { break; }
    }
  }
  ~comma_locale() {
    std::locale::global(streams_);
    std::setlocale(LC_ALL, "C");
  }
  comma_locale(comma_locale const&) = delete;

 private:
  std::locale streams_;
};

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
  auto const usual = all_formats();
  std::map<std::string, std::string> other;
  {
    comma_locale const set;
    std::ostringstream stream;
    stream << 1234.5;
    CHECK(stream.str() == "1.234,5");
    if (printf_half() != "0,5") { WARN("no locale of C with a decimal comma: printf is untested"); }
    other = all_formats();
  }
  for (auto const& [format, text] : usual) {
    INFO(format);
    CHECK(other.at(format) == text);
  }
}
