// SPDX-License-Identifier: Apache-2.0
/// @file
/// The tables of all experiments, of results made up by hand that are all alike: names alone tell
/// their rows apart.
#include "all_reduce/options.hpp"
#include "catch.hpp"
#include "copy_strategies/options.hpp"
#include "overlap/options.hpp"

#include <assay/cli/experiment.hpp>
#include <assay/cli/sweep.hpp>
#include <assay/page/page.hpp>
#include <assay/report/csv.hpp>
#include <assay/report/markdown.hpp>
#include <assay/report/text.hpp>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::examples;

namespace {

using choices = std::vector<std::pair<std::string, std::string>>;
using verdict = measure::verdict;

/// A comparison of variants with these choices, each with the one before or, else, the first.
measure::comparison fake(std::vector<choices> const& variants, bool before = false) {
  measure::comparison all;
  all.primary = measure::clock::gpu;
  all.title = "made up";
  all.epochs = 12;
  for (auto const& each : variants) {
    auto& made = all.variants.emplace_back();
    made.axes = each;
    for (auto const& [axis, choice] : each) {
      made.label += (made.label.empty() ? "" : ", ") + choice;
    }
    made.seconds.fill({1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 64});
    made.submission = measure::submission_profile{};
    made.memory = measure::memory_profile{};
  }
  for (std::size_t i = 1; i < variants.size(); ++i) {
    auto const control = before ? i - 1 : 0;
    for (auto const on : measure::all_clocks) {
      auto& made = all.findings.emplace_back();
      made.contrast_name = all.variants[i].label + " against " + all.variants[control].label;
      made.weights.assign(variants.size(), 0);
      made.weights[control] = -1;
      made.weights[i] = 1;
      made.on = on;
      made.primary = on == all.primary;
      made.outcome = made.primary ? verdict::slower : verdict::faster;
      made.effect = made.primary ? measure::estimate{1.1, 1.05, 1.15, 0.95}
                                 : measure::estimate{0.9, 0.85, 0.95, 0.95};
    }
  }
  return all;
}

measure::comparison swept(std::vector<point> const& points, std::vector<choices> const& variants,
                          bool before = false) {
  return cli::sweep(points, {}, [&](auto const&...) { return fake(variants, before); });
}

measure::comparison all_reduce() {
  auto const given = all_reduce_options{}.read({});
  std::vector<cli::named_comparison> parts;
  std::vector<choices> staged;
  for (auto const* stages : {"1", "2"}) {
    for (auto const* strategy : {"copy::regular<16, 4>", "copy::cp_async<2>", "copy::bulk<4>"}) {
      staged.push_back({{"stages", stages}, {"strategy", strategy}});
    }
  }
  auto one = fake(staged);
  std::erase_if(one.findings, [](auto const& each) { return each.weights[3] != 0; });
  for (auto& each : one.findings) {  // each with the first at as many stages
    if (each.weights[4] + each.weights[5] > 0) { std::swap(each.weights[0], each.weights[3]); }
  }
  for (auto const bytes : given.compared) { parts.emplace_back(all_reduce_point(bytes, 0), one); }
  for (auto const sms : given.sms) { parts.emplace_back(all_reduce_point(given.sweep, sms), one); }
  return cli::join(parts, 0.05);
}

std::vector<choices> each_of(std::string const& axis, std::vector<std::string> const& all) {
  std::vector<choices> made;
  for (auto const& each : all) { made.push_back({{axis, each}}); }
  return made;
}

/// An experiment, and the axes that vary between its comparisons.
struct named_experiment {
  std::string name;
  measure::comparison result;
  std::vector<std::string> axes{};
  std::string compared{};
};

std::vector<named_experiment> experiments() {
  std::vector<point> sizes;
  for (auto const* each : {"1MiB", "4MiB", "16MiB", "64MiB"}) {
    sizes.push_back({{}, {{"size", each}}});
  }
  auto const strategies =
      each_of("copy", {"copy::regular<16, 4>", "copy::cp_async<2>", "copy::bulk<4>"});
  std::vector<choices> crossed;
  for (auto const* memory : {"mr::pool", "mr::async"}) {
    for (auto const* mode : {"submit::concurrent", "submit::serialized"}) {
      crossed.push_back({{"memory", memory}, {"submission", mode}});
    }
  }
  auto const own = fake(each_of("callable", {"sort", "scan", "hash"}));
  return {
      {"all_reduce", all_reduce(), {"size", "sms"}, "strategy"},
      {"copy_strategies",
       swept(copy_points(copy_options{}.read(false, 132), 132), strategies),
       {"sms", "work", "blocks"},
       "copy"},
      {"overlap",
       swept(sizes, each_of("transfer", {"mapped", "overlapped", "pinned", "staged", "pageable"}),
             true),
       {"size"},
       "transfer"},
      {"matmul", fake(each_of("copy", {"copy::regular<16, 4>", "copy::cp_async<2>",
                                       "copy::cp_async<4>", "copy::bulk<2>", "copy::bulk<4>"}))},
      {"null_cast", fake(crossed)},
      {"one's own",
       cli::sweep({{{{"n", 1}}}, {{{"n", 2}}}}, {}, [&](auto const&...) { return own; }),
       {"n"},
       "callable"}};
}

/// The rows of a table.
using rows = std::vector<std::string>;

/// The tables of a text: a line that begins with more than two blanks belongs to the one above.
std::vector<rows> tables_of_text(std::string const& text) {
  std::vector<rows> all;
  std::istringstream lines{text};
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      all.emplace_back();
    } else if (line.starts_with("   ") && !first.empty()) {
      if (all.back().back() == first) { all.back().pop_back(); }  // a label on a line of its own
      all.back().push_back(first + line);
    } else if (line.starts_with("  ") && !all.empty()) {
      all.back().push_back(first = line);
    }
  }
  return all;
}

/// The parts of a text between two marks.
rows between(std::string const& text, std::string const& begin, std::string const& end) {
  rows all;
  for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    all.push_back(text.substr(at, text.find(end, at) - at));
  }
  return all;
}

/// Every table that a writer makes of a comparison.
std::vector<rows> tables_of(measure::comparison const& all) {
  std::ostringstream text, findings, variants;
  report::text(text, all);
  report::csv::findings(findings, all);
  report::csv::variants(variants, all);
  auto tables = tables_of_text(text.str());
  for (auto const& each : {findings.str(), variants.str()}) {
    tables.push_back(between("\n" + each, "\n", "\n"));
  }
  for (auto const& each : between(report::markdown(all, nullptr) + "\n", "\n\n|", "\n\n")) {
    tables.push_back(between("\n" + each, "\n", "\n"));
  }
  for (auto const& each : between(report::page({{all}}), "<table>", "</table>")) {
    tables.push_back(between(each, "<tr>", "</tr>"));
  }
  return tables;
}

}  // namespace

TEST_CASE("each row of each table of each experiment can be told from the others", "[examples]") {
  for (auto const& each : experiments()) {
    int seen = 0;
    for (auto table : tables_of(each.result)) {
      std::string whole;
      for (auto const& row : table) { whole += row + "\n"; }
      INFO(each.name << "\n" << whole);
      auto const about = each.result.variants.back().label;
      auto const mentions = whole.find("against") != whole.npos || whole.find(about) != whole.npos;
      for (auto const& axis : each.axes) {
        if (mentions) { CHECK_THAT(whole, test::contains(axis)); }
      }
      seen += mentions ? 1 : 0;
      std::ranges::sort(table);
      CHECK(std::ranges::adjacent_find(table) == table.end());
    }
    CHECK(seen >= 8);
  }
}

TEST_CASE("every experiment prints 60 lines or less, and names what it leaves out", "[examples]") {
  for (auto const& each : experiments()) {
    std::ostringstream text, whole;
    report::text(text, each.result, cli::screen_lines);
    report::text(whole, each.result);
    INFO(each.name << "\n" << text.str());
    auto const kept = between("\n" + text.str(), "\n", "\n");
    CHECK(kept.size() <= cli::screen_lines);
    CHECK_THAT(text.str(), test::contains("\nVerdicts"));
    auto const cut = whole.str().size() > text.str().size();
    CHECK((text.str().find("\nLeft out, and printed with --full: ") != std::string::npos) == cut);
    if (each.axes.size() > 1) {  // many rows: the head counts the verdicts
      CHECK_THAT(text.str(), test::contains(" SLOWER.\n"));
      auto const primary = [](auto const& one) { return one.primary; };
      bool const too_many = std::ranges::count_if(each.result.findings, primary) >
                            static_cast<std::ptrdiff_t>(cli::screen_lines);
      CHECK((text.str().find(" lines of Verdicts") != std::string::npos) == too_many);
    }
  }
}

TEST_CASE("the verdicts of a sweep are a table with all axes in its head", "[examples]") {
  for (auto const& each : experiments()) {
    if (each.axes.empty()) { continue; }
    std::ostringstream text;
    report::text(text, each.result);
    auto const begin = text.str().find("\nVerdicts (");
    INFO(each.name << text.str());
    REQUIRE(begin != std::string::npos);
    auto const line = text.str().find('\n', begin + 1) + 1;
    auto const head = text.str().substr(line, text.str().find('\n', line) - line);
    for (auto const& axis : each.axes) { CHECK_THAT(head, test::contains(" " + axis + " ")); }
    CHECK_THAT(head, test::contains(" " + each.compared + " "));
  }
}
