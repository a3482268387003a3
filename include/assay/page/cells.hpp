// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. The figures of cells: distributions, and cells over time.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/parts.hpp>
#include <assay/report/short_text.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace assay::report::detail {

/// The seconds of a variant's cells on a clock, as far as they are finite.
inline std::vector<double> finite_cells(measure::variant_result const& of, measure::clock on) {
  auto cells = of.cells[static_cast<std::size_t>(on)];
  std::erase_if(cells, [](double each) { return !std::isfinite(each); });
  return cells;
}

/// The ends of the values that are no far outliers: those within three quartile ranges of a
/// quartile (Tukey's outer fences).
inline std::pair<double, double> fences(std::vector<double> values) {
  auto const [median, q1, q3, low, high, count] = stats::summarise(std::move(values));
  return {std::max(low, q1 - 3 * (q3 - q1)), std::min(high, q3 + 3 * (q3 - q1))};
}

/// Those of the cells of a group, for an axis over all of them; none without cells.
inline std::vector<double> ends_of(measure::comparison const& all,
                                   std::vector<std::size_t> const& group) {
  std::vector<double> ends;
  for (auto const i : group) {
    auto const cells = finite_cells(all.variants[i], all.primary);
    if (cells.empty()) { continue; }
    auto const [low, high] = fences(cells);
    ends.insert(ends.end(), {low, high});
  }
  return ends;
}

/// The share of cells at or below a time, for each variant of a group.
inline figure distribution(measure::comparison const& all, std::vector<std::size_t> const& group,
                           page_ids& ids, page_budget const& budget) {
  figure made{.title = "Distribution of cells, " + clock_name(all.primary)};
  auto const ends = ends_of(all, group);
  if (ends.empty()) { return {}; }
  std::string names;
  for (auto const i : group) { names += (names.empty() ? "" : ", ") + all.variants[i].label; }
  auto const x = time_axis(ends, all.primary);
  chart drawn{"Share of cells at or below a time: " + names, "The table has the quantiles.", x,
              axis{.label = "share of cells", .text = [](double v) { return percent(v, 0); }}, 220};
  std::size_t beyond = 0, total = 0;
  for (std::size_t style = 0; style < group.size(); ++style) {
    auto cells = finite_cells(all.variants[group[style]], all.primary);
    std::ranges::sort(cells);
    std::vector<place> steps;
    auto const stride =
        std::max<std::size_t>(1, cells.size() / std::min<std::size_t>(budget.marks, 400));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      beyond += x.holds(cells[i]) ? 0U : 1U;
      if (i % stride == 0 || i + 1 == cells.size()) {
        steps.push_back({cells[i], static_cast<double>(i + 1) / static_cast<double>(cells.size())});
      }
    }
    total += cells.size();
    drawn.steps(steps, style);
    made.legend.emplace_back(style, all.variants[group[style]].label);
  }
  if (beyond > 0) {
    made.note = "Cells outside of the picture: " + count(beyond) + " of " + count(total) + ".";
  }
  made.picture = drawn.svg(ids.next());
  return made;
}

/// The density of values at evenly spaced places of an axis: kernels of the width that suits a
/// normal distribution, by quartiles, so that a few slow cells do not blur it.
inline std::vector<double> density_on(axis const& x, std::vector<double> const& values,
                                      std::size_t places) {
  std::vector<double> shares;
  for (double const each : values) {
    if (x.holds(each)) { shares.push_back(x.share(each)); }
  }
  std::vector<double> height(places, 0.0), bins(places, 0.0);
  if (shares.empty()) { return height; }
  auto const last = static_cast<double>(places - 1);
  for (double const each : shares) { ++bins[static_cast<std::size_t>(std::round(each * last))]; }
  auto const number = static_cast<double>(shares.size());
  auto const five = stats::summarise(std::move(shares));
  auto const width = std::max(0.9 * (five.q3 - five.q1) / 1.34 * std::pow(number, -0.2), 1 / last);
  for (std::size_t i = 0; i < places; ++i) {
    for (std::size_t j = 0; j < places; ++j) {
      auto const away = (static_cast<double>(i) - static_cast<double>(j)) / last / width;
      if (bins[j] > 0) { height[i] += bins[j] / number / width * std::exp(-0.5 * away * away); }
    }
  }
  return height;
}

/// The density of cells beside their distribution, on the same axis.
inline figure density(measure::comparison const& all, std::vector<std::size_t> const& group,
                      page_ids& ids) {
  constexpr std::size_t places = 160;
  auto const ends = ends_of(all, group);
  if (ends.empty()) { return {}; }
  auto const x = time_axis(ends, all.primary);
  double most = 0;
  std::vector<std::vector<double>> heights;
  for (auto const i : group) {
    heights.push_back(density_on(x, finite_cells(all.variants[i], all.primary), places));
    most = std::max(most, std::ranges::max(heights.back()));
  }
  figure made{.title = "Density of cells, " + clock_name(all.primary)};
  chart drawn{"Density of cells", "The table has the quantiles.", x,
              axis{.label = "density, the highest is 1"}, 220};
  for (std::size_t style = 0; style < group.size() && most > 0; ++style) {
    std::vector<place> line;
    for (std::size_t i = 0; i < places; ++i) {
      auto const share = static_cast<double>(i) / static_cast<double>(places - 1);
      auto const at = x.logarithmic ? x.low * std::pow(x.high / x.low, share)
                                    : x.low + share * (x.high - x.low);
      line.push_back({at, heights[style][i] / most});
    }
    drawn.line(line, style);
    made.legend.emplace_back(style, all.variants[group[style]].label);
  }
  made.picture = drawn.svg(ids.next());
  return made;
}

/// Quantiles of each variant on each clock.
inline html_table quantile_table(measure::comparison const& all) {
  html_table rows{{"variant", "clock", "median", "first quartile", "third quartile", "minimum",
                   "maximum", "cells", "rate at the median"}};
  for (auto const& each : all.variants) {
    for (auto const on : measure::all_clocks) {
      auto const& seconds = each.on(on);
      if (!std::isfinite(seconds.median)) { continue; }
      rows.add({each.label, to_string(on), time_cell(seconds.median), time_cell(seconds.q1),
                time_cell(seconds.q3), time_cell(seconds.min), time_cell(seconds.max),
                count_cell(seconds.count),
                on == measure::clock::submit ? "-" : rate_of(all, each, seconds.median)});
    }
  }
  return rows;
}

/// A cell in time: the second of its start, or its number where the record has no times.
struct timed_cell {
  double at = 0, seconds = 0, sm_hertz = 0;
  int epoch = -1;
};

/// The cells of a variant in run order. A record of schema 1 does not say which epoch a cell is in;
/// all epochs get the same number of cells then.
inline std::vector<timed_cell> cells_in_time(measure::comparison const& all, std::size_t variant) {
  auto const clock = static_cast<std::size_t>(all.primary);
  std::vector<timed_cell> found;
  for (auto const& each : all.cells) {
    if (static_cast<std::size_t>(each.variant) != variant) { continue; }
    found.push_back({each.start_seconds, each.seconds[clock], each.sm_hertz, each.epoch});
  }
  if (!all.cells.empty()) { return found; }
  auto const& cells = all.variants[variant].cells[clock];
  auto const in_epoch =
      std::max<std::size_t>(1, cells.size() / static_cast<std::size_t>(std::max(1, all.epochs)));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    found.push_back({static_cast<double>(i), cells[i], std::numeric_limits<double>::quiet_NaN(),
                     static_cast<int>(i / in_epoch)});
  }
  return found;
}

/// Cells over time, one chart for each variant on common axes, and the SM clock where recorded.
inline std::vector<figure> cells_over_time(measure::comparison const& all, page_ids& ids,
                                           page_budget const& budget) {
  std::vector<figure> made;
  std::vector<double> times{0}, ratios{1}, hertz;
  std::vector<place> clocks;
  for (std::size_t v = 0; v < all.variants.size(); ++v) {
    std::vector<double> own;
    for (auto const& each : cells_in_time(all, v)) {
      times.push_back(each.at);
      own.push_back(each.seconds / all.variants[v].on(all.primary).median);
      if (std::isfinite(each.sm_hertz)) {
        hertz.push_back(each.sm_hertz);
        clocks.push_back({each.at, each.sm_hertz});
      }
    }
    std::erase_if(own, [](double each) { return !std::isfinite(each); });
    if (own.empty()) { continue; }
    auto const [low, high] = fences(own);
    ratios.insert(ratios.end(), {low, high});
  }
  if (times.size() == 1) { return made; }
  bool const timed = !all.cells.empty();
  auto const x = axis_over(times, timed ? "s since the start" : "cell, in run order", plain_number);
  auto const y = ratio_axis(ratios, "the median", all.primary);
  auto const thinned = [&](std::vector<place> places) {
    auto const stride = places.size() / budget.marks + 1;
    std::vector<place> kept;
    for (std::size_t i = 0; i < places.size(); i += stride) { kept.push_back(places[i]); }
    return kept;
  };
  auto const dropped = [&](chart& into) {
    for (auto const& each : all.epoch_records) {
      if (!each.dropped.empty()) {
        into.band_x(each.start_seconds, each.start_seconds + each.seconds, "dropped");
      }
    }
  };
  for (std::size_t v = 0; v < all.variants.size(); ++v) {
    auto const median = all.variants[v].on(all.primary).median;
    std::vector<place> places;
    std::size_t beyond = 0;
    for (auto const& each : cells_in_time(all, v)) {
      places.push_back({each.at, each.seconds / median});
      beyond += std::isfinite(each.seconds) && !y.holds(places.back().y) ? 1U : 0U;
    }
    auto const kept = thinned(places);
    chart drawn{"Cells of " + all.variants[v].label + " over time",
                count(places.size()) + " cells; median " + duration(median) + " (" +
                    clock_name(all.primary) + ").",
                x, y, 110};
    dropped(drawn);
    drawn.rule_y(1);
    drawn.dots(kept, 0);
    auto note = beyond > 0 ? "Cells outside of the picture: " + count(beyond) + ". " : "";
    if (kept.size() < places.size()) {
      note += count(kept.size()) + " of " + count(places.size()) +
              " cells are shown, to keep the page small.";
    }
    made.push_back({all.variants[v].label, {}, drawn.svg(ids.next()), note});
  }
  if (!hertz.empty()) {
    chart drawn{
        "SM clock over time", "The SM clock of all cells.", x,
        axis_over(hertz, "GHz, SM clock", [](double value) { return plain_number(value * 1e-9); }),
        110};
    dropped(drawn);
    drawn.dots(thinned(clocks), 0);
    made.push_back({"SM clock of all cells", {}, drawn.svg(ids.next()), {}});
  }
  return made;
}

/// The median of each variant in each epoch.
inline html_table epoch_medians(measure::comparison const& all) {
  auto epochs = all.epoch_records;
  for (int i = 0; all.epoch_records.empty() && i < all.epochs; ++i) {
    auto& each = epochs.emplace_back();
    each.number = i;
    each.start_seconds = std::numeric_limits<double>::quiet_NaN();
  }
  html_table rows{{"epoch", "variant", "begins at", "clock", "median", "SM clock", "cells"}};
  for (std::size_t v = 0; v < all.variants.size(); ++v) {
    auto const cells = cells_in_time(all, v);
    for (auto const& epoch : epochs) {
      std::vector<double> seconds, hertz;
      for (auto const& each : cells) {
        if (each.epoch != epoch.number) { continue; }
        seconds.push_back(each.seconds);
        hertz.push_back(each.sm_hertz);
      }
      if (seconds.empty()) { continue; }
      auto const clock = stats::summarise(hertz).median;
      rows.add({html_cell{std::to_string(epoch.number) + (epoch.dropped.empty() ? "" : ", dropped"),
                          static_cast<double>(epoch.number)},
                all.variants[v].label, time_cell(epoch.start_seconds), to_string(all.primary),
                time_cell(stats::summarise(seconds).median), html_cell{frequency(clock), clock},
                count_cell(seconds.size())});
    }
  }
  return rows;
}

}  // namespace assay::report::detail
