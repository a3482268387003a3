// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. The figures of two designs: two crossed factors, and a sweep over numbers.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/core/policy.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/page/choice.hpp>
#include <assay/page/effects.hpp>
#include <assay/page/parts.hpp>
#include <assay/page/sweep.hpp>
#include <assay/report/headline.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
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

/// The finding on the primary clock that holds a variant against its control; null without one.
inline measure::finding const* verdict_on(measure::comparison const& all, std::size_t variant) {
  for (auto const& each : all.findings) {
    auto const who = two_of(each, all.variants.size());
    if (who && who->second == variant && has_interval(each.effect)) { return &each; }
  }
  return nullptr;
}

/// The axis of a swept field.
inline axis field_axis(swept_field const& field) {
  auto const levels = field.levels();
  auto const text = [bytes = field.bytes](double value) {
    return bytes ? without_zeros(byte_size(value)) : plain_number(value);
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
                              std::span<response_line const> lines, page_ids& ids) {
  auto const dominated = dominated_by(all);
  std::vector<double> ends;
  for (auto const& each : all.variants) { ends.push_back(each.on(all.primary).median); }
  figure made{.title = "Time over " + of.fields[0].name + ", " + clock_name(all.primary)};
  chart drawn{made.title, "Median times of the variants; the table has them.",
              field_axis(of.fields[0]), time_axis(ends, all.primary), 240};
  for (std::size_t v = 0; v < all.variants.size(); ++v) {
    if (!of.series[v].empty()) { continue; }
    drawn.rule_y(ends[v], "analysis");
    drawn.note({of.fields[0].levels().front(), ends[v]}, all.variants[v].label, "start", -5);
  }
  for (std::size_t style = 0; style < lines.size(); ++style) {
    std::vector<place> places;
    std::vector<mark> marks;
    for (auto const v : lines[style].variants) {
      places.push_back({of.fields[0].values[v], ends[v]});
      marks.push_back({.x = places.back().x,
                       .y = ends[v],
                       .text = all.variants[v].label + ": " + duration(ends[v]),
                       .open = !dominated[v].empty()});
    }
    drawn.line(places, style);
    drawn.marks(marks, style);
    if (lines.size() > 1) { made.legend.emplace_back(style, lines[style].label); }
  }
  made.note = "Medians of cells. Open markers: a verdict says that another variant is faster.";
  made.picture = drawn.svg(ids.next());
  return made;
}

/// What the variants of a line are held against: one line or one variant, else their controls.
inline std::string control_of(measure::comparison const& all,
                              std::vector<response_line> const& lines, response_line const& line) {
  std::vector<std::string> names;
  for (auto const v : line.variants) {
    auto const* const found = verdict_on(all, v);
    if (found == nullptr) { continue; }
    auto const control = two_of(*found, all.variants.size())->first;
    auto const own = std::ranges::find_if(lines, [&](response_line const& each) {
      return std::ranges::find(each.variants, control) != each.variants.end();
    });
    bool const other = own != lines.end() && own->label != line.label;
    add_distinct(names, other ? own->label : all.variants[control].label);
  }
  return names.size() == 1 ? names.front() : "its control";
}

/// For each line the ratio to the control's time over a swept field, with its simultaneous band.
/// All have one axis.
inline std::vector<figure> ratio_figures(measure::comparison const& all, sweep const& of,
                                         std::vector<response_line> const& lines, page_ids& ids) {
  std::vector<double> ends;
  for (std::size_t v = 0; v < all.variants.size(); ++v) {
    auto const* const found = verdict_on(all, v);
    if (found == nullptr || of.series[v].empty()) { continue; }
    auto const& [ratio, low, high, confidence] = found->effect;
    ends.insert(ends.end(), {ratio, low, high});
  }
  show_margin_if_near(ends, all.margin);
  std::vector<figure> made;
  for (std::size_t i = 0; i < lines.size() && !ends.empty(); ++i) {
    auto const style = i % chart_styles;
    std::vector<place> middle, low, high;
    std::vector<mark> marks;
    for (auto const v : lines[i].variants) {
      auto const* const found = verdict_on(all, v);
      if (found == nullptr) { continue; }
      auto const x = of.fields[0].values[v];
      middle.push_back({x, found->effect.ratio});
      low.push_back({x, found->effect.low});
      high.push_back({x, found->effect.high});
      marks.push_back({.x = x,
                       .y = found->effect.ratio,
                       .text = sentence(*found, all),
                       .open = found->outcome == measure::verdict::inconclusive ||
                               found->outcome == measure::verdict::unproven});
    }
    if (marks.empty()) { continue; }
    auto const title = lines[i].label + " against " + control_of(all, lines, lines[i]);
    chart drawn{title, "Ratios of times with their intervals; the table has them.",
                field_axis(of.fields[0]), ratio_axis(ends, "the control's", all.primary), 200};
    drawn.band_y(1 / (1 + all.margin), 1 + all.margin);
    drawn.rule_y(1);
    drawn.band(low, high, style);
    drawn.line(middle, style);
    drawn.marks(marks, style);
    made.push_back({title, {}, drawn.svg(ids.next()), {}});
  }
  return made;
}

/// The times over two swept fields, one map for each series; the shade is the time.
inline std::vector<figure> heat_maps(measure::comparison const& all, sweep const& of,
                                     page_ids& ids) {
  std::vector<std::string> series;
  for (auto const& each : of.series) {
    if (!each.empty()) { add_distinct(series, each); }
  }
  auto const best = chosen(all);
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
                 duration(median) + (best[v] ? " *" : ""), all.variants[v].label);
    }
    made.push_back({title,
                    {},
                    drawn.svg(ids.next()),
                    "Median, " + clock_name(all.primary) +
                        ". *: the variant to choose among those that it was compared with."});
  }
  return made;
}

/// The variants of a sweep as a table.
inline html_table sweep_table(measure::comparison const& all, sweep const& of) {
  std::vector<std::string> head{"variant"};
  for (auto const& each : of.fields) { head.push_back(each.name); }
  for (auto const* each : {"clock", "median", "against its control", "slower than", "choose"}) {
    head.emplace_back(each);
  }
  html_table rows{std::move(head)};
  auto const dominated = dominated_by(all);
  auto const best = chosen(all);
  for (std::size_t v = 0; v < all.variants.size(); ++v) {
    std::vector<html_cell> row{all.variants[v].label};
    for (auto const& each : of.fields) {
      row.push_back(std::isnan(each.values[v])
                        ? html_cell{"-"}
                        : html_cell{field_axis(each).text(each.values[v]), each.values[v]});
    }
    auto const* const found = verdict_on(all, v);
    row.insert(row.end(),
               {to_string(all.primary), time_cell(all.variants[v].on(all.primary).median),
                found == nullptr ? html_cell{"-"}
                                 : html_cell{effect_and_interval(*found), found->effect.ratio},
                dominated[v].empty() ? "-" : dominated[v], best[v] ? "*" : "-"});
    rows.add(std::move(row));
  }
  return rows;
}

}  // namespace assay::report::detail
