// SPDX-License-Identifier: Apache-2.0
/// @file
/// The predicted times of paths over sizes, with their crossings, as a file of SVG.
#pragma once

#include <assay/dispatch/crossover.hpp>
#include <assay/measure/regret.hpp>
#include <assay/page/chart.hpp>
#include <assay/page/style.hpp>
#include <assay/report/format.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace assay::report {

namespace detail {

/// A curve of the chart: one path, of one kind of calls.
struct cost_curve {
  std::string label;
  std::size_t path = 0;
  measure::call_kind const* kind = nullptr;
};

/// One curve for each host path, since the memory does not matter there. One curve for each kind of
/// calls on a device, if the size decides their times.
inline std::vector<cost_curve> curves_of(measure::dispatch_study const& study) {
  std::vector<cost_curve> all;
  for (std::size_t p = 0; p < study.of.paths().size(); ++p) {
    auto const& each = study.of.paths()[p];
    if (!each.wrong.empty()) { continue; }
    for (auto const& kind : study.kinds) {
      if (!kind.at) { continue; }
      bool const on_host = each.where.host() != nullptr;
      all.push_back({each.where.describe() + (on_host ? "" : ", " + kind.name), p, &kind});
      if (on_host) { break; }
    }
  }
  return all;
}

/// A chart with its legend.
struct cost_chart {
  chart picture;
  std::vector<std::string> legend;  ///< by style
};

inline cost_chart chart_of(measure::dispatch_study const& study, int height) {
  constexpr double points_per_octave = 4;
  auto const curves = curves_of(study);
  auto const& knots = study.of.paths()[curves.front().path].knots;
  double const first = knots.front().size, last = knots.back().size;
  auto const points = std::ceil(points_per_octave * std::log2(last / first));
  std::vector<std::vector<place>> lines, lows, highs;
  std::vector<double> seconds;
  for (auto const& each : curves) {
    auto& line = lines.emplace_back();
    auto& low = lows.emplace_back();
    auto& high = highs.emplace_back();
    for (double i = 0; i <= points; ++i) {
      double const size = std::round(first * std::pow(last / first, i / points));
      auto const said =
          study.of.predict(each.path, each.kind->at(static_cast<std::size_t>(size))).total;
      line.push_back({size, said.seconds});
      low.push_back({size, said.low});
      high.push_back({size, said.high});
      seconds.push_back(said.seconds);
    }
  }
  axis x{"size of a call", first, last, true};
  auto y = axis_over(seconds, "time of a call", dispatch::short_text, true);
  cost_chart made{{study.of.task(), "Predicted times with their intervals; crossings are marked.",
                   std::move(x), std::move(y), height},
                  {}};
  for (std::size_t c = 0; c < curves.size(); ++c) {
    made.legend.push_back(curves[c].label);
    for (auto& each : lows[c]) { each.y = std::max(each.y, 1e-12); }  // an axis of logarithms
    made.picture.band(lows[c], highs[c], c);
    made.picture.line(lines[c], c);
    // Markers tell curves apart in black and white; markers of two curves stand side by side.
    std::vector<mark> marks;
    for (std::size_t i = 2 * c; i < lines[c].size(); i += 16) {
      marks.push_back({lines[c][i].x, lines[c][i].y, curves[c].label});
    }
    made.picture.marks(marks, c);
  }
  std::vector<double> marked;  // borders between host paths are the same for each kind of calls
  for (auto const& kind : study.kinds) {
    for (auto const& each :
         kind.at ? find_regions(study.of, kind.at) : std::vector<dispatch::region>{}) {
      if (each.from.size == 0 || std::ranges::count(marked, each.from.size) > 0) { continue; }
      marked.push_back(each.from.size);
      bool const on_host = study.of.paths()[each.path].where.host() != nullptr;
      auto const own = std::ranges::find_if(curves, [&](cost_curve const& one) {
        return one.path == each.path && (on_host || one.kind == &kind);
      });
      auto const style = static_cast<std::size_t>(own - curves.begin());
      double const at =
          study.of.seconds(each.path, kind.at(static_cast<std::size_t>(each.from.size)));
      auto const size = dispatch::detail::whole(each.from.size);
      mark border{
          .x = each.from.size, .y = at, .text = own->label + " from " + size + " on", .open = true};
      if (each.from.low > 0) { border.x_low = each.from.low, border.x_high = each.from.high; }
      made.picture.rule_x(each.from.size, "analysis");
      made.picture.marks({border}, style);
      // Numbers of both kinds of borders may be close: they stand on both sides of the curves.
      made.picture.note({each.from.size, at}, size, on_host ? "start" : "end", on_host ? 18 : -9);
    }
  }
  return made;
}

}  // namespace detail

/// A file of SVG with a chart for each task: the time of a call on each path over its size, both
/// logarithmic, with intervals. Marks with a number are the sizes at which another path becomes the
/// fastest. The file loads nothing.
inline std::string crossover_svg(std::vector<measure::dispatch_study> const& studies) {
  constexpr int width = 760, height = 300, left = 16, line = 20;
  std::string body;
  int y = 16;
  auto const words = [&](int x, int at, std::string const& style, std::string const& text) {
    return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(at) + "\" style=\"" +
           style + "\">" + escaped(text) + "</text>";
  };
  for (auto const& study : studies) {
    if (study.kinds.empty()) { continue; }
    auto const [picture, legend] = detail::chart_of(study, height);
    body +=
        words(left, y + 12, "font:600 15px system-ui,sans-serif;fill:var(--ink)", study.of.task());
    y += 2 * line;
    int x = left;
    for (std::size_t style = 0; style < legend.size(); ++style) {
      int const needed = 44 + 8 * static_cast<int>(legend[style].size());
      if (x + needed > width && x > left) { x = left, y += line; }
      body += "<svg x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y - 10) +
              "\" width=\"30\" height=\"12\">" + chart_key(style) + "</svg>" +
              words(x + 36, y, "font:12px system-ui,sans-serif", legend[style]);
      x += needed;
    }
    y += 2 * line;
    body += picture.svg_at("chart-" + study.of.task(), left, y, width - 2 * left);
    y += height + 3 * line;
  }
  auto const size = "width=\"" + std::to_string(width) + "\" height=\"" + std::to_string(y) + "\"";
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size + "><style>" +
         std::string{chart_style} + "</style><rect " + size + " fill=\"var(--page)\"/>" + body +
         "</svg>\n";
}

}  // namespace assay::report
