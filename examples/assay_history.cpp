// SPDX-License-Identifier: Apache-2.0
// How did a case's time change over commits? Stored comparisons side by side, as a table and a
// chart. They prove nothing about each other: that is what assay_bisect is for.
// assay-uses: cli
// assay-test-args: --help

#include <assay/cli/guarded.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/core/distinct.hpp>
#include <assay/page/parts.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/json.hpp>
#include <assay/report/table.hpp>
#include <assay/report/words.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace assay;

namespace {

constexpr auto caveat =
    "Stored numbers prove nothing about each other: machines, clocks and days differ. A verdict "
    "holds for its own two sides alone. assay_bisect builds the commits and compares them in one "
    "run.";

/// The newer side of one stored comparison.
struct entry {
  std::string name, machine, date, against, answer;
  measure::summary seconds;
};

/// The entries of one case on one clock, in the order of the files.
struct history {
  measure::clock on = measure::clock::wall;
  std::vector<entry> all;
};
using histories = std::map<std::string, history>;

void add(histories& to, std::string const& path) {
  require_readable(path);
  std::ifstream file{path, std::ios::binary};
  std::string const text{std::istreambuf_iterator<char>{file}, {}};
  auto const of = [&] {
    try {
      return report::parse_json(text);
    } catch (std::invalid_argument const& why) {
      throw std::invalid_argument(path + ": " + why.what() + "; name files that --json wrote");
    }
  }();
  auto const found = std::ranges::find_if(of.findings, [](auto const& each) {
    return each.primary && report::detail::compared_pair(each);
  });
  if (found == of.findings.end()) { return; }
  auto const [control, variant] = *report::detail::compared_pair(*found);
  auto const& now = of.variants.at(variant);
  auto const what = of.title.substr(0, of.title.find(": " + now.label));
  auto& into =
      to[(what.empty() ? "a comparison" : what) + ", " + report::detail::clock_name(found->on)];
  into.on = found->on;
  into.all.push_back(
      {now.label, of.where.device.empty() ? of.where.host_cpu : of.where.device,
       of.where.started_at, of.variants.at(control).label,
       std::string{to_string(found->outcome)} + " " + report::effect_and_interval(*found),
       now.on(found->on)});
}

void print(std::ostream& out, std::string const& title, history const& of) {
  out << report::printable(title) << '\n';
  std::vector<std::vector<std::string>> rows{
      {"commit", "median", "middle half", "verdict", "against", "date", "machine"}};
  for (auto const& each : of.all) {
    rows.push_back({report::printable(each.name), report::duration(each.seconds.median),
                    report::duration(each.seconds.q1) + " to " + report::duration(each.seconds.q3),
                    each.answer, report::printable(each.against), each.date,
                    report::printable(each.machine)});
  }
  report::detail::print_aligned(
      out, rows.size(), {true, false, false, true, true, true, true},
      [&](std::size_t row, std::size_t column) { return rows[row][column]; }, false, 200);
}

report::markup drawn(std::string const& title, history const& of, report::detail::page_ids& ids) {
  std::vector<std::string> names, machines;
  std::vector<double> seconds;
  report::detail::html_table table{{"commit", "median", "verdict", "against", "date", "machine"}};
  for (auto const& each : of.all) {
    names.push_back(report::shortened(each.name, 12));
    seconds.insert(seconds.end(), {each.seconds.q1, each.seconds.median, each.seconds.q3});
    add_distinct(machines, each.machine);
    table.add({each.name, report::detail::time_cell(each.seconds.median), each.answer, each.against,
               each.date, each.machine});
  }
  report::chart picture{title, "Median times by commit; bars hold the middle half of the cells.",
                        report::axis_of(names), report::detail::time_axis(seconds, of.on), 280};
  report::detail::figure made{title};
  for (std::size_t style = 0; style < machines.size(); ++style) {
    std::vector<report::place> line;
    std::vector<report::mark> marks;
    for (std::size_t i = 0; i < of.all.size(); ++i) {
      auto const& each = of.all[i];
      if (each.machine != machines[style]) { continue; }
      auto const x = static_cast<double>(i);
      line.push_back({x, each.seconds.median});
      marks.push_back({.x = x,
                       .y = each.seconds.median,
                       .text = each.name + ": " + report::duration(each.seconds.median),
                       .y_low = each.seconds.q1,
                       .y_high = each.seconds.q3});
    }
    picture.line(line, style);
    picture.marks(marks, style);
    made.legend.emplace_back(style, machines[style]);
  }
  made.picture = picture.svg(ids.next());
  return made.html() + table.html(title, of.all.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  std::string html;
  CLI::App app{
      std::string{"Shows stored comparisons over commits, in the order of the files: those of "
                  "assay_compare --json, and those that assay_bisect keeps.\n"} +
          caveat,
      "assay_history"};
  app.set_help_flag("--help,-h", "print this text");
  app.add_option("FILE", files, "comparisons as JSON")->required();
  app.add_option("--html", html, "write a page")->check(cli::no_option);
  auto const body = [&] {
    run_files own;
    for (auto const& each : files) { own.read("the comparison", each); }
    if (!html.empty()) {
      own.write("--html", html);
      cli::require_output(html);
    }
    histories all;
    for (auto const& each : files) { add(all, each); }
    if (all.empty()) { throw std::invalid_argument("no file compares one variant with another"); }
    report::detail::page_ids ids;
    report::markup charts;
    for (auto const& [title, of] : all) {
      print(std::cout, title, of);
      if (!html.empty()) { charts += drawn(title, of, ids); }
    }
    std::cout << report::wrapped(caveat, "", "");
    if (!html.empty()) {
      auto const title = "Times over commits";
      write_atomically(
          html, report::detail::whole_page(title, report::element("h1", "", title) +
                                                      report::detail::paragraph(caveat) + charts));
    }
    return static_cast<int>(cli::ok);
  };
  return cli::guarded(app, argc, argv, body, std::cout, std::cerr);
}
