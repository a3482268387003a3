// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. The figures of two designs: two crossed factors, and a sweep over numbers.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/core/policy.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/page/parts.hpp>
#include <assay/page/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::report::detail {

/// Two axes of choices, and the variant of each pair of them.
struct crossed_axes {
  std::string row_axis, column_axis;
  std::vector<std::string> rows, columns;
  std::vector<std::size_t> at;  ///< by row, then column
};

/// The two factors of a comparison with interactions; none where it has no such design.
inline std::optional<crossed_axes> crossed(measure::comparison const& all) {
  auto const interacts = [](measure::finding const& each) {
    return each.what == measure::contrast::kind::interaction;
  };
  if (all.variants.empty() || std::ranges::none_of(all.findings, interacts)) { return {}; }
  std::vector<std::pair<std::string, std::vector<std::string>>> varying;
  for (auto const& [axis, first] : all.variants.front().axes) {
    std::vector<std::string> choices;
    for (auto const& each : all.variants) { add_distinct(choices, choice(each, axis)); }
    if (choices.size() > 1) { varying.emplace_back(axis, std::move(choices)); }
  }
  if (varying.size() != 2) { return {}; }
  crossed_axes found{varying[0].first, varying[1].first, varying[0].second, varying[1].second, {}};
  for (auto const& row : found.rows) {
    for (auto const& column : found.columns) {
      auto const is = [&](measure::variant_result const& each) {
        return choice(each, found.row_axis) == row && choice(each, found.column_axis) == column;
      };
      auto const variant = std::ranges::find_if(all.variants, is);
      if (variant == all.variants.end()) { return {}; }
      found.at.push_back(static_cast<std::size_t>(variant - all.variants.begin()));
    }
  }
  for (auto* const side : {&found.rows, &found.columns}) {
    std::vector<std::string> names;
    for (auto const& each : *side) { add_distinct(names, name_of(each)); }
    if (names.size() == side->size()) { *side = std::move(names); }
  }
  return found;
}

/// A line for each level of the rows. On the logarithmic axis, lines are parallel where the factors
/// do not interact, since an interaction is a ratio of ratios.
inline figure interaction_figure(measure::comparison const& all, crossed_axes const& of,
                                 measure::clock on, page_ids& ids) {
  std::vector<double> ends;
  for (auto const& each : all.variants) {
    ends.insert(ends.end(), {each.on(on).q1, each.on(on).q3, each.on(on).median});
  }
  figure made{.title = of.row_axis + " x " + of.column_axis + ", " + clock_name(on)};
  chart drawn{"Interaction plot: " + made.title,
              "Median times on a logarithmic axis. Lines that are not parallel interact.",
              axis_of(of.columns, of.column_axis), time_axis(ends, on, true), 220};
  for (std::size_t r = 0; r < of.rows.size(); ++r) {
    std::vector<place> places;
    std::vector<mark> marks;
    for (std::size_t c = 0; c < of.columns.size(); ++c) {
      auto const& variant = all.variants[of.at[r * of.columns.size() + c]];
      auto const& seconds = variant.on(on);
      auto const x = static_cast<double>(c);
      places.push_back({x, seconds.median});
      marks.push_back({.x = x,
                       .y = seconds.median,
                       .text = variant.label + ": " + duration(seconds.median),
                       .y_low = seconds.q1,
                       .y_high = seconds.q3});
    }
    drawn.line(places, r);
    drawn.marks(marks, r);
    made.legend.emplace_back(r, of.rows[r]);
  }
  made.picture = drawn.svg(ids.next());
  return made;
}

/// The control and the variant of a finding on the primary clock that is about two variants.
inline std::optional<std::pair<std::size_t, std::size_t>> two_of(measure::finding const& found,
                                                                 std::size_t variants) {
  auto const at = [&](double weight) {
    auto const place = std::ranges::find(found.weights, weight);
    return static_cast<std::size_t>(place - found.weights.begin());
  };
  auto const control = at(-1), variant = at(1);
  if (!found.primary || found.what != measure::contrast::kind::difference ||
      found.weights.size() != variants || control == variants || variant == variants) {
    return std::nullopt;
  }
  return std::pair{control, variant};
}

/// For each variant, the label of one that a verdict on the primary clock calls faster; else empty.
inline std::vector<std::string> dominated_by(measure::comparison const& all) {
  std::vector<std::string> by(all.variants.size());
  for (auto const& each : all.findings) {
    auto const who = two_of(each, by.size());
    if (!who || !stats::is_sign(each.outcome)) { continue; }
    auto const [control, variant] = *who;
    bool const faster = each.outcome == measure::verdict::faster;
    by[faster ? control : variant] = all.variants[faster ? variant : control].label;
  }
  return by;
}

/// The simultaneous interval of a variant's time: the control's median times the interval of the
/// ratio. None where no verdict on the primary clock is about the variant.
inline std::optional<std::pair<double, double>> simultaneous_interval(
    measure::comparison const& all, std::size_t variant) {
  for (auto const& each : all.findings) {
    auto const who = two_of(each, all.variants.size());
    if (!who || who->second != variant || !has_interval(each.effect)) { continue; }
    auto const median = all.variants[who->first].on(all.primary).median;
    return std::pair{median * each.effect.low, median * each.effect.high};
  }
  return std::nullopt;
}

/// The axis of a swept field.
inline axis field_axis(swept_field const& field) {
  auto const levels = field.levels();
  auto const text = [bytes = field.bytes](double value) {
    if (!bytes) { return plain_number(value); }
    auto shown = byte_size(value);
    auto const zeros = shown.find(".0");  // 1.00 MiB: a size that was chosen needs no decimals
    auto const blank = shown.find(' ');
    if (zeros < blank && shown.find_first_not_of("0", zeros + 1) == blank) {
      shown.erase(zeros, blank - zeros);
    }
    return shown;
  };
  bool const wide = levels.front() > 0 && levels.back() >= 8 * levels.front();
  auto made = axis_over(levels, field.name, text, wide);
  made.at = levels;
  return made;
}

/// The lines of a sweep: series in their order, and a line for each level of a second field.
struct response_line {
  std::string label;
  std::vector<std::size_t> variants;  ///< in the order of the first field
};

inline std::vector<response_line> response_lines(sweep const& of) {
  std::vector<response_line> lines;
  for (std::size_t v = 0; v < of.series.size(); ++v) {
    if (of.series[v].empty()) { continue; }
    auto label = of.series[v];
    if (of.fields.size() == 2) {
      auto const level = of.fields[1].name + " " + plain_number(of.fields[1].values[v]);
      label = label == "all" ? level : label + ", " + level;
    }
    auto const known = std::ranges::find(lines, label, &response_line::label);
    auto& line = known == lines.end() ? lines.emplace_back(response_line{label, {}}) : *known;
    line.variants.push_back(v);
  }
  for (auto& each : lines) {
    std::ranges::stable_sort(each.variants, {},
                             [&](std::size_t v) { return of.fields[0].values[v]; });
  }
  return lines;
}

/// The time over a swept field, on some of its lines. An open marker is a variant that a verdict
/// calls slower than another one.
inline figure response_figure(measure::comparison const& all, sweep const& of,
                              std::vector<response_line> const& lines, page_ids& ids) {
  auto const dominated = dominated_by(all);
  bool const narrow = lines.size() == 1;  // bands of several lines would hide each other
  std::vector<double> ends;
  for (std::size_t v = 0; v < all.variants.size(); ++v) {
    auto const interval = narrow ? simultaneous_interval(all, v) : std::nullopt;
    auto const median = all.variants[v].on(all.primary).median;
    ends.push_back(median);
    if (interval) { ends.insert(ends.end(), {interval->first, interval->second}); }
  }
  figure made{.title = "Time over " + of.fields[0].name + ", " + clock_name(all.primary)};
  chart drawn{made.title, "Median times of the variants; the table has them.",
              field_axis(of.fields[0]), time_axis(ends, all.primary), 240};
  for (std::size_t v = 0; v < all.variants.size(); ++v) {
    if (!of.series[v].empty()) { continue; }
    auto const median = all.variants[v].on(all.primary).median;
    drawn.rule_y(median, "analysis");
    drawn.note({of.fields[0].levels().front(), median}, all.variants[v].label, "start", -5);
  }
  for (std::size_t style = 0; style < lines.size(); ++style) {
    std::vector<place> places, low, high;
    std::vector<mark> marks;
    for (auto const v : lines[style].variants) {
      auto const x = of.fields[0].values[v];
      auto const median = all.variants[v].on(all.primary).median;
      places.push_back({x, median});
      marks.push_back({.x = x,
                       .y = median,
                       .text = all.variants[v].label + ": " + duration(median),
                       .open = !dominated[v].empty()});
      auto const interval = narrow ? simultaneous_interval(all, v) : std::nullopt;
      low.push_back({x, interval ? interval->first : median});
      high.push_back({x, interval ? interval->second : median});
    }
    if (narrow) { drawn.band(low, high, style); }
    drawn.line(places, style);
    drawn.marks(marks, style);
    if (lines.size() > 1) { made.legend.emplace_back(style, lines[style].label); }
  }
  made.note =
      std::string{
          "Medians of cells. Open markers: a verdict says that another variant is "
          "faster."} +
      (narrow ? " Band: simultaneous interval of the ratio, times the control's median." : "");
  made.picture = drawn.svg(ids.next());
  return made;
}

/// The times over two swept fields, one map for each series; the shade is the time.
inline std::vector<figure> heat_maps(measure::comparison const& all, sweep const& of,
                                     page_ids& ids) {
  std::vector<std::string> series;
  for (auto const& each : of.series) {
    if (!each.empty()) { add_distinct(series, each); }
  }
  auto const dominated = dominated_by(all);
  std::vector<figure> made;
  for (auto const& name : series) {
    auto const columns = of.fields[1].levels(), rows = of.fields[0].levels();
    auto const names = [](swept_field const& field) {
      std::vector<std::string> texts;
      for (double const each : field.levels()) { texts.push_back(field_axis(field).text(each)); }
      return texts;
    };
    std::vector<double> times;
    for (std::size_t v = 0; v < all.variants.size(); ++v) {
      if (of.series[v] == name) { times.push_back(all.variants[v].on(all.primary).median); }
    }
    auto const scale = time_axis(times, all.primary);
    auto const title = (name == "all" ? "" : name + ": ") + "time over " + of.fields[0].name +
                       " and " + of.fields[1].name;
    chart drawn{title, scale.label, axis_of(names(of.fields[1]), of.fields[1].name),
                axis_of(names(of.fields[0]), of.fields[0].name),
                34 * static_cast<int>(rows.size())};
    for (std::size_t v = 0; v < all.variants.size(); ++v) {
      if (of.series[v] != name) { continue; }
      auto const at = [v](std::vector<double> const& levels, swept_field const& field) {
        return static_cast<std::size_t>(std::ranges::find(levels, field.values[v]) -
                                        levels.begin());
      };
      auto const median = all.variants[v].on(all.primary).median;
      drawn.heat(at(columns, of.fields[1]), at(rows, of.fields[0]), scale.share(median),
                 duration(median) + (dominated[v].empty() ? " *" : ""), all.variants[v].label);
    }
    made.push_back(
        {title,
         {},
         drawn.svg(ids.next()),
         "Median, " + clock_name(all.primary) + ". *: no verdict calls another variant faster."});
  }
  return made;
}

/// The variants of a sweep as a table.
inline html_table sweep_table(measure::comparison const& all, sweep const& of) {
  std::vector<std::string> head{"variant"};
  for (auto const& each : of.fields) { head.push_back(each.name); }
  for (auto const* each : {"clock", "median", "slower than"}) { head.emplace_back(each); }
  html_table rows{std::move(head)};
  auto const dominated = dominated_by(all);
  for (std::size_t v = 0; v < all.variants.size(); ++v) {
    std::vector<html_cell> row{all.variants[v].label};
    for (auto const& each : of.fields) {
      row.push_back(std::isnan(each.values[v])
                        ? html_cell{"-"}
                        : html_cell{field_axis(each).text(each.values[v]), each.values[v]});
    }
    row.insert(row.end(),
               {to_string(all.primary), time_cell(all.variants[v].on(all.primary).median),
                dominated[v].empty() ? "-" : dominated[v]});
    rows.add(std::move(row));
  }
  return rows;
}

}  // namespace assay::report::detail
