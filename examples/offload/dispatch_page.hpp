// SPDX-License-Identifier: Apache-2.0
/// @file
/// The result of the experiment `dispatch` as a page of HTML: times of paths over the size of a
/// call.
#pragma once

#include <assay/page/parts.hpp>
#include <assay/report/document.hpp>
#include <assay/report/format.hpp>
#include <assay/report/json_values.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {

namespace detail {

using namespace report;
using namespace report::detail;

/// The held-out calls of one kind: a size, and for each path the mean of both halves.
struct dispatch_call {
  double size = 0;
  std::vector<double> seconds;
};

/// A number; NaN for null, which stands for infinity.
inline double number_in(document const& from) { return from.is_null() ? nan : from.get<double>(); }

inline std::vector<double> numbers_in(document const& from) {
  std::vector<double> all;
  for (auto const& each : from) { all.push_back(number_in(each)); }
  return all;
}

inline std::vector<dispatch_call> dispatch_calls(document const& kind) {
  std::vector<dispatch_call> all;
  for (auto const& each : kind.at("calls")) {
    auto const& halves = each.at("halves");
    auto& call =
        all.emplace_back(dispatch_call{each.at("size").get<double>(), numbers_in(halves.at(0))});
    auto const second = numbers_in(halves.at(1));
    for (std::size_t p = 0; p < call.seconds.size(); ++p) {
      call.seconds[p] = (call.seconds[p] + second.at(p)) / 2;
    }
  }
  std::ranges::stable_sort(all, {}, &dispatch_call::size);
  return all;
}

/// `45,348 [22,188, 60,097]`.
inline std::string size_in_words(std::vector<double> const& from) {
  auto const whole = [](double size) {
    return std::isfinite(size) ? count(static_cast<std::uint64_t>(size)) : fixed(size, 0);
  };
  return whole(from.at(0)) + " [" + whole(from.at(1)) + ", " + whole(from.at(2)) + "]";
}

/// A time of a round number of units, or a size of thousands, without the zeros behind its point.
inline std::string short_time(double seconds) { return without_zeros(duration(seconds)); }
inline std::string short_count(double value) {
  constexpr std::array<std::string_view, 4> units{"", "k", "M", "G"};
  return value < 1000 ? plain_number(value) : without_zeros(scaled(value, 1000, units));
}

/// The times of each path over the size of a call of one kind, and where the fastest one changes.
/// Markers stand on every tenth call, so that curves can be told apart in black and white.
inline figure crossover_figure(std::string const& task, document const& kind,
                               std::vector<std::string> const& paths, page_ids& ids) {
  auto const calls = dispatch_calls(kind);
  std::vector<double> sizes, times;
  for (auto const& call : calls) {
    sizes.push_back(call.size);
    times.insert(times.end(), call.seconds.begin(), call.seconds.end());
  }
  auto const name = kind.at("name").get<std::string>();
  figure made{.title = task + ", " + name};
  chart drawn{made.title, "Measured times of calls; the table has them.",
              axis_over(sizes, "size of a call", short_count, true),
              axis_over(times, "time of a call, wall clock", short_time, true), 240};
  for (auto const& region : kind.value("fastest", document::array())) {
    auto const from = numbers_in(region.at("from"));
    if (!(from.at(0) > 0)) { continue; }
    drawn.band_x(std::max(from.at(1), sizes.front()), std::min(sizes.back(), from.at(2)));
    drawn.rule_x(from.at(0), "analysis");
    made.note += (made.note.empty() ? "Predicted: " : "; ") + region.at("path").get<std::string>() +
                 " is the fastest from " + size_in_words(from) + " on";
  }
  made.note += made.note.empty() ? "" : ".";
  for (std::size_t p = 0; p < paths.size(); ++p) {
    std::vector<place> line;
    std::vector<mark> marks;
    for (auto const& call : calls) {
      line.push_back({call.size, call.seconds.at(p)});
      if (line.size() % 10 != 1 + p % 10) { continue; }
      marks.push_back({call.size, line.back().y, paths[p] + ": " + duration(line.back().y)});
    }
    drawn.line(line, p);
    drawn.marks(marks, p);
    made.legend.emplace_back(p, paths[p]);
  }
  made.picture = drawn.svg(ids.next());
  return made;
}

inline html_table crossover_table(document const& kinds) {
  html_table rows{{"arrays", "path", "against", "is faster, as predicted", "bisected"}};
  for (auto const& kind : kinds) {
    auto const checks = kind.value("bisected", document::array());
    for (auto const& each : kind.value("crossovers", document::array())) {
      std::string found;
      for (auto const& check : checks) {
        if (check.at("first") != each.at("first")) { continue; }
        for (auto const& size : check.at("sizes")) {
          found += (found.empty() ? "" : ", ") + size_in_words(numbers_in(size));
        }
        if (found.empty()) { found = check.at("right").get<bool>() ? "confirmed" : "wrong"; }
      }
      auto const text = [&](char const* key) { return each.at(key).get<std::string>(); };
      rows.add({kind.at("name").get<std::string>(), text("second"), text("first"),
                text("second_is_faster"), found.empty() ? "-" : found});
    }
  }
  return rows;
}

/// The time of the calls by each chooser over that of perfect choices.
inline html_table chooser_table(document const& task) {
  std::vector<std::string> head{"chooser"};
  for (auto const& each : task.at("kinds")) { head.push_back(each.at("name").get<std::string>()); }
  for (auto const* each : {"all", "worst call"}) { head.emplace_back(each); }
  html_table rows{std::move(head)};
  for (auto const& row : task.at("regrets")) {
    std::vector<html_cell> cells{row.at("name").get<std::string>()};
    auto const add = [&](document const& regret) {
      auto const over = 1 + number_in(regret);
      cells.emplace_back(fixed(over, over < 10 ? 3 : 1) + (over > 0 ? "x" : ""), over);
    };
    for (auto const& each : row.at("kinds")) { add(each.at("total")); }
    add(row.at("all").at("total"));
    add(row.at("all").at("max"));
    rows.add(std::move(cells));
  }
  return rows;
}

/// What the calls by the model take over perfect choices, and those by the best other chooser.
inline std::string choosers_in_words(document const& task) {
  auto const over = [](document const& row, char const* key) {
    return 1 + number_in(row.at("all").at(key));
  };
  document const* best = nullptr;
  auto const& rows = task.at("regrets");
  for (std::size_t i = 1; i < rows.size(); ++i) {
    auto const each = over(rows[i], "total");
    if (best == nullptr || each < over(*best, "total")) { best = &rows[i]; }
  }
  if (best == nullptr) { return {}; }
  return "Calls where the model chooses take " + fixed(over(rows[0], "total"), 3) +
         "x the time of perfect choices; noise alone makes " +
         fixed(over(rows[0], "noise_floor"), 3) + "x. The best other chooser, " +
         best->at("name").get<std::string>() + ", takes " + fixed(over(*best, "total"), 3) + "x.";
}

inline html_table call_table(document const& kinds, std::vector<std::string> const& paths) {
  std::vector<std::string> head{"arrays", "size"};
  head.insert(head.end(), paths.begin(), paths.end());
  html_table rows{std::move(head)};
  for (auto const& kind : kinds) {
    for (auto const& call : dispatch_calls(kind)) {
      std::vector<html_cell> cells{kind.at("name").get<std::string>(),
                                   count_cell(static_cast<std::uint64_t>(call.size))};
      for (double const each : call.seconds) { cells.push_back(time_cell(each)); }
      rows.add(std::move(cells));
    }
  }
  return rows;
}

inline std::vector<std::string> paths_of(document const& task) {
  std::vector<std::string> paths;
  for (auto const& each : task.at("paths")) { paths.push_back(each.at("path").get<std::string>()); }
  return paths;
}

/// A figure for each kind of calls of a task.
inline std::vector<figure> crossover_figures(document const& task, page_ids& ids) {
  std::vector<figure> charts;
  for (auto const& kind : task.at("kinds")) {
    if (kind.at("calls").empty()) { continue; }
    charts.push_back(
        crossover_figure(task.at("task").get<std::string>(), kind, paths_of(task), ids));
  }
  return charts;
}

inline markup dispatch_section(document const& task, page_ids& ids) {
  auto const name = task.at("task").get<std::string>();
  auto const paths = paths_of(task);
  std::vector<std::string> wrong;
  for (auto const& each : task.at("paths")) {
    auto const why = each.at("wrong").get<std::string>();
    if (!why.empty()) { wrong.push_back(each.at("path").get<std::string>() + " is WRONG: " + why); }
  }
  auto const charts = crossover_figures(task, ids);
  auto text = title_of(name) + paragraph(choosers_in_words(task));
  for (auto const& each : wrong) { text += paragraph(each, "left-out"); }
  constexpr std::size_t most_calls = 500;
  return text + figures(charts, charts.size()) +
         crossover_table(task.at("kinds")).folded("crossovers of " + name, most_calls) +
         chooser_table(task).folded("time over perfect choices, " + name, most_calls) +
         call_table(task.at("kinds"), paths).folded("held-out calls of " + name, most_calls);
}

/// A figure as a part of an SVG of 900 pixels, from `top` on.
inline markup figure_in_svg(figure const& of, int top) {
  auto const at = [top](int x, int y, markup const& content) {
    return markup("<svg x=\"", std::to_string(x), "\" y=\"", std::to_string(top + y),
                  "\" overflow=\"visible\">", content, "</svg>");
  };
  auto const text = [&](int x, int y, std::string const& words) {
    return at(x, y, element("text", "note", words));
  };
  auto made = text(12, 20, of.title);
  int x = 12;
  for (auto const& [style, label] : of.legend) {
    made += at(x, 32, chart_key(style)) + text(x + 36, 43, label);
    x += 60 + 8 * static_cast<int>(label.size());
  }
  // The style of the picture gives its size in a page alone.
  auto const plot =
      "<svg width=\"815\" height=\"240\" overflow=\"visible\">" + of.picture + "</svg>";
  return made + at(70, 78, plot) + text(12, 380, of.note);
}

}  // namespace detail

/// True for what the experiment `dispatch` wrote with `--json`.
inline bool is_dispatch(report::document const& from) {
  return from.is_object() && from.value("schema", "") == "assay.dispatch.1";
}

/// The charts of that result, one below the other, as one SVG. Throws as `dispatch_page`.
inline std::string crossover_svg(report::document const& from) {
  constexpr int width = 900, height = 410;  // of a figure
  report::markup all;
  int top = 0;
  try {
    detail::page_ids ids;
    for (auto const& task : from.at("tasks")) {
      for (auto const& each : detail::crossover_figures(task, ids)) {
        all += detail::figure_in_svg(each, top);
        top += height;
      }
    }
  } catch (report::document::exception const& error) {
    throw std::invalid_argument(std::string{"not a result of dispatch: "} + error.what());
  }
  auto const size =
      " width=\"" + std::to_string(width) + "\" height=\"" + std::to_string(top) + '"';
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + size +
         " font-family=\"system-ui,sans-serif\" font-size=\"13\"><style>" +
         std::string{report::chart_style} + "</style><rect" + size +
         " style=\"fill:var(--page)\"/>" + all.str() + "</svg>\n";
}

/// The page of that result, made from its JSON alone. Throws `std::invalid_argument` where members
/// are missing.
inline std::string dispatch_page(report::document const& from) {
  if (!is_dispatch(from)) {
    throw std::invalid_argument("this is no result of the experiment dispatch");
  }
  try {
    detail::page_ids ids;
    auto const& where = from.at("where");
    std::string origin;
    for (auto const* key : {"device", "host_cpu", "commit", "started_at"}) {
      auto const value = where.value(key, std::string{});
      if (!value.empty()) { origin += (origin.empty() ? "" : ", ") + value; }
    }
    std::string const title = "Host or device: which path is the fastest, from which size on?";
    auto body = report::element("h1", "", title) + detail::paragraph(origin, "soft") +
                detail::paragraph("BLAS: " + from.value("blas", std::string{"none"}), "soft") +
                detail::paragraph(
                    "Lines: measured times of held-out calls, wall clock, by the memory of their "
                    "arrays. Dotted rule and band: the predicted size from which another path is "
                    "the fastest, and its interval. A size counts elements; of products, the rows "
                    "of a square matrix.");
    for (auto const& task : from.at("tasks")) { body += detail::dispatch_section(task, ids); }
    return detail::whole_page(title, body);
  } catch (report::document::exception const& error) {
    throw std::invalid_argument(std::string{"not a result of dispatch: "} + error.what());
  }
}

}  // namespace assay::examples
