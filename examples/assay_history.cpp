// SPDX-License-Identifier: Apache-2.0
// How did a case's time change over commits? Stored comparisons side by side, as a table and a
// chart. They prove nothing about each other: that is what assay_bisect is for.
// assay-uses: cli
// assay-test-args: --help

#include "saved_comparison.hpp"

#include <assay/cli/guarded.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/page/parts.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/table.hpp>
#include <assay/report/words.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace assay;

namespace {

constexpr auto caveat =
    "Stored numbers prove nothing about each other: machines, clocks and days differ. A verdict "
    "holds for its own two sides alone. assay_bisect builds the commits and compares them in one "
    "run.";

/// The newer side of one stored comparison, and its line of the table.
struct entry {
  measure::clock on;
  measure::summary seconds;
  std::vector<std::string> row;
  std::string const& machine() const { return row.back(); }
};
std::vector<std::string> const head{"commit",  "median", "middle half", "verdict",
                                    "against", "date",   "machine"};

/// The entries of each case on its clock, in the order of the files.
using histories = std::map<std::string, std::vector<entry>>;

void add(histories& to, std::string const& path) {
  auto const of = examples::saved_comparison(path, examples::saved_document(path));
  auto const found = std::ranges::find_if(of.findings, [](auto const& each) {
    return each.primary && report::detail::compared_pair(each);
  });
  if (found == of.findings.end()) { return; }
  auto const [control, variant] = *report::detail::compared_pair(*found);
  auto const& now = of.variants.at(variant);
  auto const& seconds = now.on(found->on);
  auto what = of.title.substr(0, of.title.find(": " + now.label));
  if (what.empty()) { what = "a comparison"; }
  to[concat({what, ", ", report::detail::clock_name(found->on)})].push_back(
      {found->on,
       seconds,
       {now.label, report::duration(seconds.median),
        concat({report::duration(seconds.q1), " to ", report::duration(seconds.q3)}),
        concat({to_string(found->outcome), " ", report::effect_and_interval(*found)}),
        of.variants.at(control).label, of.where.started_at,
        of.where.device.empty() ? of.where.host_cpu : of.where.device}});
}

/// The chart, with a line for each machine, and the table.
report::markup drawn(std::string const& title, std::vector<entry> const& all,
                     report::detail::page_ids& ids) {
  std::vector<std::string> names, machines;
  std::vector<double> ends;
  report::detail::html_table table{head};
  for (auto const& each : all) {
    names.push_back(report::shortened(each.row[0], 12));
    ends.insert(ends.end(), {each.seconds.q1, each.seconds.q3});
    add_distinct(machines, each.machine());
    table.add({each.row.begin(), each.row.end()});
  }
  report::chart picture{title, "Median times by commit; bars hold the middle half of the cells.",
                        report::axis_of(names), report::detail::time_axis(ends, all[0].on), 280};
  report::detail::figure made{title};
  for (std::size_t style = 0; style < machines.size(); ++style) {
    std::vector<report::place> line;
    std::vector<report::mark> marks;
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const& [on, seconds, row] = all[i];
      if (all[i].machine() != machines[style]) { continue; }
      line.push_back({static_cast<double>(i), seconds.median});
      marks.push_back({.x = line.back().x,
                       .y = seconds.median,
                       .text = concat({row[0], ": ", row[1]}),
                       .y_low = seconds.q1,
                       .y_high = seconds.q3});
    }
    picture.line(line, style);
    picture.marks(marks, style);
    made.legend.emplace_back(style, machines[style]);
  }
  made.picture = picture.svg(ids.next());
  return made.html() + table.html(title, all.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  std::string html;
  CLI::App app{concat({"Shows stored comparisons over commits, in the order of the files: those of "
                       "assay_compare --json, and those that assay_bisect keeps.\n",
                       caveat}),
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
    report::markup page =
        report::element("h1", "", "Times over commits") + report::detail::paragraph(caveat);
    for (auto const& [title, of] : all) {
      report::table table{head, {3, 4, 5, 6}};
      for (auto const& each : of) { table.add(each.row); }
      std::ostringstream text;
      table.print(text, 200);
      std::cout << report::printable(concat({title, "\n", text.str()}), true);
      page += drawn(title, of, ids);
    }
    std::cout << report::wrapped(caveat, "", "");
    if (!html.empty()) {
      write_atomically(html, report::detail::whole_page("Times over commits", page));
    }
    return static_cast<int>(cli::ok);
  };
  return cli::guarded(app, argc, argv, body, std::cout, std::cerr);
}
