// SPDX-License-Identifier: Apache-2.0
/// @file
/// `ranks_page`: a comparison of ranks as a page of HTML that loads nothing.
#pragma once

#include <assay/nsys/rank_tables.hpp>
#include <assay/page/parts.hpp>
#include <assay/page/strips.hpp>
#include <assay/report/format.hpp>
#include <assay/trace/rank_trace.hpp>
#include <assay/trace/ranks.hpp>
#include <assay/trace/table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace assay::report {

namespace detail {

inline double seconds_of(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }

/// A table of a trace as one of a page. Times have units.
inline html_table page_table(trace::table const& of) {
  std::vector<std::string> head;
  for (auto const& each : of.columns()) {
    auto const timed = each.name.ends_with(" (ns)");
    head.push_back(timed ? each.name.substr(0, each.name.size() - 5) : each.name);
  }
  html_table made{std::move(head)};
  for (std::size_t row = 0; row < of.rows(); ++row) {
    std::vector<html_cell> cells;
    for (std::size_t i = 0; i < of.columns().size(); ++i) {
      auto const& column = of.columns()[i];
      if (column.format == trace::cell_format::text) {
        cells.emplace_back(std::string{of.text(row, i)});
      } else if (column.name.ends_with(" (ns)")) {
        cells.push_back(time_cell(1e-9 * of.number(row, i)));
      } else {
        auto const digits = column.format == trace::cell_format::integer ? 0 : 1;
        cells.emplace_back(fixed(of.number(row, i), digits), of.number(row, i));
      }
    }
    made.add(std::move(cells));
  }
  return made;
}

/// One sentence on the rank that holds up the others most.
inline std::string ranks_headline(trace::rank_comparison const& of,
                                  trace::rank_collector const& from) {
  auto const worst = std::ranges::max_element(of.ranks, {}, &trace::rank_sums::held_up_ns);
  std::int64_t time = 0, waiting = 0;
  for (auto const& each : of.ranks) {
    time += each.time_ns;
    waiting += each.waiting_ns;
  }
  if (worst == of.ranks.end() || worst->held_up_ns == 0 || time == 0) {
    return "No rank holds up a collective.";
  }
  auto const longest =
      std::ranges::max_element(worst->before, {}, [](auto const& each) { return each.second.ns; });
  return "Rank " + std::to_string(worst - of.ranks.begin()) + " holds up collectives by " +
         duration(seconds_of(worst->held_up_ns)) +
         ", the longest part of it in: " + activity_name(from, longest->first.first) +
         ". Ranks wait for " + percent(static_cast<double>(waiting) / static_cast<double>(time)) +
         " of their time in collectives.";
}

/// The time of each rank in collectives, and what ranks did before late arrivals.
inline markup ranks_bars(trace::rank_comparison const& of, trace::rank_collector const& from,
                         page_ids& ids) {
  std::vector<bar_row> times, causes;
  std::vector<std::pair<std::int64_t, trace::string_id>> activities;
  for (auto const& rank : of.ranks) {
    for (auto const& [key, each] : rank.before) {
      auto const known = std::ranges::find(activities, key.first,
                                           &std::pair<std::int64_t, trace::string_id>::second);
      if (known == activities.end()) {
        activities.emplace_back(each.ns, key.first);
      } else {
        known->first += each.ns;
      }
    }
  }
  std::ranges::sort(activities, std::greater{});
  activities.resize(std::min(activities.size(), chart_styles - 1));
  for (std::size_t rank = 0; rank < of.ranks.size(); ++rank) {
    auto const& sums = of.ranks[rank];
    auto const label = "rank " + std::to_string(rank);
    times.push_back({label,
                     {{"waiting for the last rank", seconds_of(sums.waiting_ns)},
                      {"moving bytes", seconds_of(sums.moving_ns)},
                      {"not split", seconds_of(sums.unsplit_ns)}},
                     duration(seconds_of(sums.time_ns))});
    bar_row row{label, {}, duration(seconds_of(sums.held_up_ns))};
    auto rest = sums.held_up_ns;
    for (auto const& [all, what] : activities) {
      std::int64_t ns = 0;
      for (auto const& [key, each] : sums.before) { ns += key.first == what ? each.ns : 0; }
      row.parts.emplace_back(activity_name(from, what), seconds_of(ns));
      rest -= ns;
    }
    row.parts.emplace_back("others", seconds_of(rest));
    causes.push_back(std::move(row));
  }
  return title_of("Time in collectives") + stacked_bars(times, " in collectives", ids) +
         title_of("What ranks did while they alone held up collectives") +
         stacked_bars(causes, " of delay", ids);
}

}  // namespace detail

/// The page: who holds up whom, bars and tables. Nothing is loaded.
inline std::string ranks_page(trace::rank_comparison const& of, trace::rank_collector const& from,
                              std::vector<std::string> const& notes) {
  detail::page_ids ids;
  auto text =
      element("h1", "", "Ranks") + detail::paragraph(detail::ranks_headline(of, from), "headline");
  text += detail::ranks_bars(of, from, ids) + detail::title_of("Notes");
  for (auto const& each : notes) { text += detail::paragraph(each); }
  text += detail::title_of("Tables");
  constexpr std::size_t most_rows = 2000;
  for (auto const& each :
       {trace::ranks_table(of, from), trace::rank_causes_table(of, from),
        trace::rank_collectives_table(of, from), trace::rank_arrivals_table(of, from)}) {
    if (each.rows() > 0) { text += detail::page_table(each).html(each.title(), most_rows); }
  }
  return detail::whole_page("Ranks", text);
}

}  // namespace assay::report
