// SPDX-License-Identifier: Apache-2.0
// What did a comparison find? Its JSON file as a page, as Markdown, as JUnit XML or as CSV, on any
// machine; no GPU and no CUDA toolkit needed.
// assay-uses: cli
// assay-test-args: --help

#include "all_reduce_page.hpp"
#include "offload/dispatch_page.hpp"
#include "saved_comparison.hpp"
#include "transformer/transformer_page.hpp"

#include <assay/cli/guarded.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/cli/parse.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/page/page.hpp>
#include <assay/report/headline.hpp>
#include <assay/report/junit.hpp>
#include <assay/report/markdown.hpp>
#include <assay/report/short_text.hpp>

#include <CLI/CLI.hpp>

#include <deque>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
namespace fs = std::filesystem;

namespace {

constexpr auto description =
    "Shows saved comparisons: the JSON files that experiments and assay_compare write with "
    "--json.\n"
    "Without an option it prints the short report.";

constexpr auto footer =
    "Examples:\n"
    "  assay_report run.json                            the short report\n"
    "  assay_report run.json --html run.html            a page: charts and tables in one file\n"
    "  assay_report a.json b.json --html both.html      a page with two sections\n"
    "  assay_report run.json --markdown pr.md           for a pull request\n"
    "  assay_report run.json --junit ci.xml --fail-if slower,unproven\n"
    "  assay_report new.json --baseline old.json --html page.html\n"
    "  assay_report all_reduce.json --html page.html    what the benchmark all_reduce wrote\n"
    "  assay_report dispatch.json --html page.html      what the experiment dispatch wrote\n"
    "  assay_report answers.json --html page.html       what transformer --answers --json wrote\n"
    "Exit codes: 0 done; 2 bad input; 4 a file could not be written. With --fail-if also: 1 a "
    "wrong answer; 3 a condition holds; 5 a guard forbids a verdict.";

struct request {
  std::vector<std::string> files, fail_if;
  std::string html, markdown, junit, csv, baseline;
};

struct saved {
  std::string name;
  measure::comparison of;
};

/// A file of the command line.
using named_document = std::pair<std::string, report::document>;

saved saved_in(named_document const& file) {
  auto const& [path, from] = file;
  return {fs::path{path}.stem().string(), examples::saved_comparison(path, from)};
}

/// A file to write, and the option that asks for it.
struct output {
  char const* option;
  std::string path, content;
};
using outputs = std::vector<output>;

void add_csv(outputs& to, std::string const& path, measure::comparison const& of) {
  for (auto const& format : cli::file_formats()) {
    if (format.option != "--csv") { continue; }
    to.push_back({"--csv", cli::beside(path, format.part).string(), format.text(of, {})});
  }
}

outputs made(request const& of, std::deque<saved> const& all, measure::comparison const* baseline) {
  outputs to;
  std::vector<report::page_part> parts;
  std::vector<measure::comparison const*> comparisons;
  std::string markdown;
  for (auto const& each : all) {
    parts.push_back({each.of, baseline});
    comparisons.push_back(&each.of);
    markdown += report::markdown(each.of, baseline);
  }
  auto const gate = [&](measure::comparison const& in, measure::finding const& found) {
    return cli::met_by(in, found, of.fail_if);
  };
  if (!of.html.empty()) { to.push_back({"--html", of.html, report::page(parts)}); }
  if (!of.markdown.empty()) { to.push_back({"--markdown", of.markdown, markdown}); }
  if (!of.junit.empty()) { to.push_back({"--junit", of.junit, report::junit(comparisons, gate)}); }
  for (auto const& each : all) {
    if (of.csv.empty()) { break; }
    add_csv(to, all.size() == 1 ? of.csv : cli::beside(of.csv, each.name).string(), each.of);
  }
  return to;
}

/// Writes all files, once each is known to have a path of its own that can be written.
void write(request const& of, outputs const& all) {
  run_files files;
  for (auto const& path : of.files) { files.read("the comparison", path); }
  if (!of.baseline.empty()) { files.read("the baseline", of.baseline); }
  for (auto const& each : all) {
    files.write(each.option, each.path);
    cli::require_output(each.path);
  }
  for (auto const& each : all) { write_atomically(each.path, each.content); }
}

std::string told(std::deque<saved> const& all, measure::comparison const* baseline) {
  std::string text;
  for (auto const& each : all) {
    text += (text.empty() ? "" : "\n") + report::short_text(each.of);
    if (baseline == nullptr) { continue; }
    text += "  saved, " + report::origin_text(*baseline) + ":\n";
    bool any = false;
    for (auto const& [now, then] : report::beside(each.of, *baseline)) {
      if (now->primary && then != nullptr) {
        any = true;
        text += report::wrapped(report::sentence(*then, *baseline) + ".", "    ", "      ");
      }
    }
    if (!any) { text += "    none of these contrasts\n"; }
    text += report::wrapped(report::baseline_caveat, "  ", "  ");
  }
  return report::printable(text, true);
}

/// A kind of result that has a page and is no comparison.
struct other_result {
  char const* program;
  bool (*is)(report::document const&);
  std::string (*page)(report::document const&);
};
constexpr other_result other_results[] = {
    {"the benchmark all_reduce", &examples::is_all_reduce, &examples::all_reduce_page},
    {"the experiment dispatch", &examples::is_dispatch, &examples::dispatch_page},
    {"the program transformer", &examples::is_transformer, &examples::transformer_page}};

/// Writes the page of such a result if `of` names just that; false if it names other files.
bool report_other(request const& of, std::vector<named_document> const& files) {
  for (auto const& [path, from] : files) {
    for (auto const& each : other_results) {
      if (!each.is(from)) { continue; }
      bool const others = !of.markdown.empty() || !of.junit.empty() || !of.csv.empty() ||
                          !of.baseline.empty() || !of.fail_if.empty();
      if (files.size() > 1 || of.html.empty() || others) {
        throw std::invalid_argument(path + " is of " + each.program +
                                    ": give it alone, with --html alone");
      }
      auto const& document = from;
      write(of, {{"--html", of.html, examples::parsed(path, [&] { return each.page(document); })}});
      return true;
    }
  }
  return false;
}

int report_all(request const& of) {
  std::vector<named_document> documents;
  for (auto const& path : of.files) {
    documents.emplace_back(path, examples::saved_document(path));
  }
  if (report_other(of, documents)) { return cli::ok; }
  for (auto const& condition : of.fail_if) {
    cli::choose("--fail-if", "condition", condition, cli::gate_names());
  }
  std::deque<saved> all;
  for (auto const& each : documents) { all.push_back(saved_in(each)); }
  std::optional<saved> baseline;
  if (!of.baseline.empty()) {
    baseline = saved_in({of.baseline, examples::saved_document(of.baseline)});
  }
  auto const* const old = baseline ? &baseline->of : nullptr;
  auto const files = made(of, all, old);
  // The files come before the terminal, where a closed pipe ends the process.
  write(of, files);
  if (files.empty()) { std::cout << told(all, old) << std::flush; }
  auto code = cli::ok;
  for (auto const& each : all) {
    if (!of.fail_if.empty()) { code = cli::worse(code, cli::judge(each.of, of.fail_if)); }
  }
  return code;
}

void declare(CLI::App& app, request& into) {
  app.set_help_flag("--help,-h", "print this text");
  app.footer(footer);
  app.add_option("FILE", into.files, "comparisons as JSON")->required();
  for (auto const& [name, path, what] :
       {std::tuple{"--html", &into.html, "write a page: one file, which loads nothing"},
        std::tuple{"--markdown", &into.markdown, "write Markdown for a pull request"},
        std::tuple{"--junit", &into.junit, "write JUnit XML: a test case for each contrast"},
        std::tuple{"--csv", &into.csv, "write X.csv, X.variants.csv and X.cells.csv"},
        std::tuple{"--baseline", &into.baseline, "show this saved comparison beside the others"}}) {
    app.add_option(name, *path, what)->check(cli::no_option)->type_name("FILE");
  }
  app.add_option("--fail-if", into.fail_if,
                 "fail the test cases, and exit with 3, if any holds: slower, faster, different, "
                 "inconclusive, unproven")
      ->delimiter(',');
}

}  // namespace

int main(int argc, char** argv) {
  request of;
  CLI::App app{description, "assay_report"};
  declare(app, of);
  return cli::guarded(app, argc, argv, [&] { return report_all(of); }, std::cout, std::cerr);
}
