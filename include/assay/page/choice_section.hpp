// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. The first line of a page: the variant to choose; in a sweep for each size.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/choice.hpp>
#include <assay/page/design.hpp>
#include <assay/page/parts.hpp>
#include <assay/page/sweep.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace assay::report::detail {

/// The choice at one place of a sweep.
struct choice_at {
  std::vector<double> at;          ///< the value of each field
  std::vector<std::string> where;  ///< the same in words
  std::string series;              ///< the winner, or the verdict that prevents one
  choice_of_group const* of = nullptr;
};

/// The choices of a sweep whose variants are compared at each place; empty for other designs.
inline std::vector<choice_at> choices_by_place(sweep const& of,
                                               std::vector<choice_of_group> const& groups) {
  std::vector<choice_at> made;
  for (auto const& group : groups) {
    choice_at here{{}, {}, group.word, &group};
    for (auto const& field : of.fields) {
      auto const value = field.values[group.variants.front()];
      for (auto const each : group.variants) {
        if (!(field.values[each] == value)) { return {}; }
      }
      here.at.push_back(value);
      here.where.push_back(field_axis(field).text(value));
    }
    if (auto const winner = group.winner()) { here.series = of.series[*winner]; }
    made.push_back(std::move(here));
  }
  // The first field varies last, so that each line of a sweep stays together.
  std::ranges::stable_sort(made, [](choice_at const& a, choice_at const& b) {
    return std::vector<double>{a.at.rbegin(), a.at.rend()} <
           std::vector<double>{b.at.rbegin(), b.at.rend()};
  });
  return made.size() > 1 ? made : std::vector<choice_at>{};
}

/// The first line of a sweep, and the table of its winners.
inline markup choice_of_sweep(measure::comparison const& all, sweep const& of,
                              std::vector<choice_at> const& places, page_budget const& budget) {
  constexpr std::size_t most_stretches = 6, most_rows = 16;
  std::vector<std::string> head;
  for (auto const& each : of.fields) { head.push_back(each.name); }
  head.insert(head.end(), {"choose", "by how much"});
  html_table rows{std::move(head)};
  std::vector<std::string> stretches;
  bool const several_lines = of.fields.size() > 1;
  for (std::size_t i = 0; i < places.size();) {
    auto last = i;
    auto const same = [&](choice_at const& next) {
      return next.series == places[i].series && (!several_lines || next.at[1] == places[i].at[1]);
    };
    while (last + 1 < places.size() && same(places[last + 1])) { ++last; }
    auto const& first = places[i];
    bool const new_line = several_lines && (i == 0 || places[i - 1].at[1] != first.at[1]);
    stretches.push_back((new_line ? of.fields[1].name + " " + first.where[1] + ": " : "") +
                        of.fields[0].name + " " + first.where[0] +
                        (last == i ? "" : " to " + places[last].where[0]) + ": " + first.series +
                        (first.of->winner() ? "" : ", choose by other grounds"));
    i = last + 1;
  }
  for (auto const& each : places) {
    auto const won = each.of->winner().has_value();
    std::vector<html_cell> row;
    for (std::size_t i = 0; i < each.at.size(); ++i) {
      row.emplace_back(each.where[i], each.at[i]);
    }
    row.emplace_back(each.series);
    row.emplace_back(won ? gain_text(all, *each.of, of.series)
                         : no_choice_text(all, *each.of, of.series));
    rows.add(std::move(row));
  }
  std::string line = "Choose by " + of.fields[0].name + ". ";
  if (stretches.size() == 1) {
    line =
        places.front().of->winner()
            ? "Choose " + places.front().series + " at every " + of.fields[0].name + "."
            : "No difference is proven at any " + of.fields[0].name + ": choose by other grounds.";
  } else {
    for (std::size_t i = 0; i < std::min(stretches.size(), most_stretches); ++i) {
      line += (i == 0 ? "" : "; ") + stretches[i];
    }
    line += stretches.size() > most_stretches
                ? "; and " + count(stretches.size() - most_stretches) + " more changes below."
                : ".";
  }
  line += " Each is sure at " + setting_percent(1 - all.alpha) + ", all together.";
  return paragraph(unbroken(line), "choice") +
         (places.size() <= most_rows
              ? rows.html("choice at each " + of.fields[0].name, most_rows)
              : rows.folded("choice at each " + of.fields[0].name, budget.marks));
}

/// The variant to choose, by how much, how sure, and what that saves; or that nothing is proven.
inline markup choice_section(measure::comparison const& all, page_budget const& budget) {
  auto const groups = choices_of(all);
  if (groups.empty()) { return {}; }
  if (auto const found = sweep_of(all.variants)) {
    auto const places = choices_by_place(*found, groups);
    if (!places.empty()) { return choice_of_sweep(all, *found, places, budget); }
  }
  std::vector<std::string> labels;
  for (auto const& each : all.variants) { labels.push_back(each.label); }
  markup text;
  for (std::size_t i = 0; i < std::min<std::size_t>(groups.size(), 4); ++i) {
    auto const& each = groups[i];
    if (auto const winner = each.winner()) {
      auto const sure = each.by == nullptr ? 1 - all.alpha : each.by->effect.confidence;
      text += element("p", "choice", "Choose ",
                      element("b", "verdict faster", all.variants[*winner].label), ": ",
                      unbroken(gain_text(all, each, labels) + ", sure at " + setting_percent(sure) +
                               ". " + price_text(all, each)));
    } else {
      auto const kind = each.word == "WRONG ANSWER" ? "verdict wrong" : "verdict open";
      text += element("p", "choice", element("b", kind, each.word), ": ",
                      unbroken(no_choice_text(all, each, labels)), ".");
    }
  }
  return text;
}

}  // namespace assay::report::detail
