// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page.hpp: the definitions of its functions.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/cells.hpp>
#include <assay/page/choice_section.hpp>
#include <assay/page/design.hpp>
#include <assay/page/effects.hpp>
#include <assay/page/launch_costs.hpp>
#include <assay/page/page.hpp>
#include <assay/page/parts.hpp>
#include <assay/page/roofline.hpp>
#include <assay/page/strips.hpp>
#include <assay/page/style.hpp>
#include <assay/page/timeline.hpp>
#include <assay/report/headline.hpp>
#include <assay/report/text_definitions.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report {

namespace detail {

inline markup bullets(std::vector<std::string> const& lines) {
  markup items;
  for (auto const& each : lines) { items += element("li", "", each); }
  return items.empty() ? "" : element("ul", "", items);
}

inline markup head_section(measure::comparison const& all, page_budget const& budget) {
  auto const first = headline_of(all);
  auto const word = first.of == nullptr
                        ? markup{}
                        : element("span", verdict_class(*first.of), first.verdict, ":") + " ";
  auto const noise = largest_noise(all);
  auto const facts = std::to_string(all.epochs) + " epochs in " + duration(all.seconds) +
                     (noise > 0 ? "; noise between epochs " + percent(noise) : "") + "; margin " +
                     setting_percent(all.margin) + "; confidence " +
                     setting_percent(1 - all.alpha) +
                     " for all intervals together; decided on the " + clock_name(all.primary);
  bool const told = first.sentence.find(all.failure) != std::string::npos;
  bool const settled = first.of != nullptr && stats::is_sign(first.of->outcome);
  auto const advised = settled ? "" : advice(all);
  markup typical;
  for (auto const& line : typical_lines(all)) { typical += paragraph(line); }
  return element("h1", "", all.title.empty() ? "comparison" : all.title) +
         choice_section(all, budget) + element("p", "headline", word, unbroken(first.sentence)) +
         typical + paragraph(facts, "soft") + paragraph(results_line(all), "soft") +
         paragraph(origin_text(all), "soft") +
         paragraph(told ? "" : "Ended early: " + all.failure) +
         paragraph(advised.empty() ? "" : "Advice: " + advised + ".");
}

/// The forest plot of a clock, its table, and the names of the main effects that it leaves out.
inline markup effects_of(measure::comparison const& all, measure::clock on, page_ids& ids,
                         page_budget const& budget) {
  std::string hidden;
  for (auto const& each : all.findings) {
    if (each.on == on && each.what == measure::contrast::kind::main_effect &&
        has_interaction(all, on)) {
      hidden += (hidden.empty() ? "" : "; ") + each.contrast_name;
    }
  }
  if (!hidden.empty()) {
    hidden = "Not shown, since the factors interact and a mean over opposite effects misleads: " +
             hidden + ".";
  }
  return forest(all, on, ids, budget) + paragraph(hidden, "note") +
         findings_table(all, on).folded("verdicts on the " + clock_name(on), budget.marks);
}

inline markup effects_section(measure::comparison const& all, page_ids& ids,
                              page_budget const& budget) {
  auto text = title_of("Effects on the " + clock_name(all.primary)) +
              paragraph(
                  "Marker and line: estimate and interval. Band: the margin. Open marker: no "
                  "verdict.",
                  "soft") +
              effects_of(all, all.primary, ids, budget);
  for (auto const on : measure::all_clocks) {
    if (on == all.primary || shown_findings(all, on).empty()) { continue; }
    text += folded("Effects on the " + clock_name(on), effects_of(all, on, ids, budget));
  }
  return text;
}

inline markup factorial_section(measure::comparison const& all, crossed_axes const& factors,
                                page_ids& ids, page_budget const& budget) {
  std::vector<figure> made;
  for (auto const on : measure::all_clocks) {
    auto const timed = [on](auto const& each) { return std::isfinite(each.on(on).median); };
    if (std::ranges::all_of(all.variants, timed)) {
      made.push_back(interaction_figure(all, factors, on, ids));
    }
  }
  if (made.empty()) { return {}; }
  return title_of("Interaction") +
         paragraph(
             "Marker and line: median and quartiles of cells. On the logarithmic axis, parallel "
             "lines mean that the factors do not interact.",
             "soft") +
         figures(made, budget.charts) +
         quantile_table(all).folded("times of the variants", budget.marks);
}

inline markup sweep_section(measure::comparison const& all, page_ids& ids,
                            page_budget const& budget) {
  auto const found = sweep_of(all.variants);
  auto const timed = [&](auto const& each) { return each.on(all.primary).median > 0; };
  if (!found || !std::ranges::all_of(all.variants, timed)) { return {}; }
  std::vector<figure> curves, maps;
  auto const lines = response_lines(*found);
  if (found->fields.size() == 1 || found->fields[1].levels().size() < 3) {
    for (std::size_t i = 0; i < lines.size(); i += chart_styles) {  // a style for each line
      auto const some = std::span{lines}.subspan(i);
      curves.push_back(
          response_figure(all, *found, some.first(std::min(some.size(), chart_styles)), ids));
    }
  }
  if (found->fields.size() == 2) { maps = heat_maps(all, *found, ids); }
  auto const ratios = ratio_figures(all, *found, lines, ids);
  return title_of("Sweep over " + found->fields[0].name) +
         paragraph(ratios.empty() ? ""
                                  : "Line: the estimate of each ratio. Its band: the intervals, "
                                    "which hold together at " +
                                        setting_percent(1 - all.alpha) +
                                        " over all points of this page. Grey band: the margin, "
                                        "where near. Open marker: no verdict.",
                   "soft") +
         figures(ratios, budget.charts) + figures(curves, budget.charts) +
         figures(maps, budget.charts) +
         sweep_table(all, *found).folded("variants of the sweep", budget.marks);
}

inline markup epochs_section(measure::comparison const& all, page_ids& ids,
                             page_budget const& budget) {
  std::vector<figure> made;
  for (auto const* each : shown_findings(all, all.primary)) {
    if (!each->epoch_effects.empty()) { made.push_back(epoch_figure(*each, all, ids)); }
  }
  if (made.empty()) { return {}; }
  html_table analyses{{"epochs", "level of each contrast", "critical value", "outcomes"}};
  for (auto const& each : all.analyses) {
    std::string outcomes;
    for (auto const outcome : each.outcomes) {
      outcomes += (outcomes.empty() ? "" : ", ") + std::string{to_string(outcome)};
    }
    analyses.add({html_cell{std::to_string(each.epochs), 1.0 * each.epochs},
                  html_cell{plain_number(each.alpha), each.alpha},
                  html_cell{std::to_string(each.critical_value), 1.0 * each.critical_value},
                  outcomes});
  }
  return title_of("Epochs") +
         paragraph(
             "An epoch repeats the experiment with new buffers. Circle: its effect. Square and "
             "line: estimate and interval at an "
             "interim analysis; the last one is the result. Band: the margin, where near.",
             "soft") +
         figures(made, budget.charts) + epoch_table(all).folded("effects of epochs", budget.marks) +
         analyses.folded("interim analyses", budget.marks);
}

inline markup cells_section(measure::comparison const& all, page_ids& ids,
                            page_budget const& budget) {
  std::vector<figure> spread;
  for (auto const& group : variant_groups(all)) {
    auto made = distribution(all, group, ids, budget);
    if (made.picture.empty()) { continue; }
    spread.push_back(std::move(made));
    spread.push_back(density(all, group, ids));
    if (auto costs = launch_figure(all, group, ids); !costs.picture.empty()) {
      spread.push_back(std::move(costs));
    }
  }
  auto const quantiles = quantile_table(all).folded("quantiles of cells", budget.marks) +
                         cost_table(all).folded("costs of launches and of cells", budget.marks);
  auto const times = cells_over_time(all, ids, budget);
  if (spread.empty() || times.empty()) {
    return title_of("Cells") + paragraph("The record has no cells.") + quantiles;
  }
  return title_of("Distribution of cells") + figures(spread, budget.charts) + quantiles +
         title_of("Cells over time") +
         paragraph(
             "A cell is one timing of a few launches. Each dot is a cell, against the median of "
             "its variant. A red band is a dropped epoch.",
             "soft") +
         figures(times, budget.charts) +
         epoch_medians(all).folded("medians of epochs", budget.marks);
}

inline markup answers_section(std::string_view title, std::vector<measure::answer> const& all) {
  markup text;
  for (auto const& each : all) {
    text += all.size() == 1 ? markup("<details open=\"open\">") : markup("<details>");
    text += element("summary", "", each.question) + bullets(each.lines) + "</details>";
  }
  return text.empty() ? text : title_of(title) + text;
}

inline markup guards_section(measure::comparison const& all) {
  html_table rows{{"guard", "what was seen"}};
  auto const& control = all.hidden_control;
  rows.add({"hidden control", control ? "the control's second instance against its first: " +
                                            effect_text(*control) + " " + interval_text(*control) +
                                            " at " + setting_percent(control->confidence) + " (" +
                                            clock_name(all.primary) + ")"
                                      : std::string{"not in this record"}});
  if (std::isfinite(all.autocorrelation)) {
    rows.add({"successive epochs", "correlation " + fixed(all.autocorrelation, 2) +
                                       "; independent epochs stay within " +
                                       fixed(2 / std::sqrt(std::max(1, all.epochs)), 2) +
                                       " of 0 in 19 of 20 comparisons"});
  }
  for (auto const& each : all.epoch_records) {
    if (!each.dropped.empty()) {
      rows.add({"epoch " + std::to_string(each.number) + " dropped", each.dropped});
    }
  }
  for (auto const& each : all.where.throttle_reasons) { rows.add({"throttling", each}); }
  for (auto const& each : all.findings) {
    if (!each.reason.empty()) {
      rows.add({each.contrast_name + " (" + clock_name(each.on) + ")", each.reason});
    }
  }
  return title_of("Guards and notes") + rows.html("Guards", std::string::npos) +
         bullets(all.caveats) + bullets(all.notes);
}

inline markup baseline_section(measure::comparison const& all, measure::comparison const& saved) {
  html_table rows{{"contrast", "clock", "verdict", "effect", "saved verdict", "saved effect"}};
  for (auto const& [now, then] : beside(all, saved)) {
    rows.add({now->contrast_name, to_string(now->on), verdict_text(*now), effect_and_interval(*now),
              then == nullptr ? "not in the saved result" : verdict_text(*then),
              then == nullptr ? "-" : effect_and_interval(*then)});
  }
  return title_of("Beside a saved result") + paragraph(baseline_caveat) +
         paragraph("Saved: " + origin_text(saved), "soft") +
         rows.html("This result beside the saved one", std::string::npos);
}

inline markup environment_section(measure::comparison const& all) {
  markup text;
  for (auto const& [name, value] : environment_lines(all)) {
    text += element("dt", "", name) +
            element("dd", "", name == "repeat" ? element("code", "", value) : markup(value));
  }
  return title_of("Environment") + element("dl", "", text);
}

inline markup part_html(page_part const& part, page_ids& ids, page_budget const& budget) {
  auto const& all = part.of;
  auto text = head_section(all, budget);
  if (budget.limited()) {
    text += paragraph(
        "Parts are left out to keep the page small, and each says so. The JSON file "
        "has everything, and assay_report --csv writes it.",
        "left-out");
  }
  if (auto const factors = crossed(all)) {
    text += factorial_section(all, *factors, ids, budget) + effects_section(all, ids, budget);
  } else {
    text += sweep_section(all, ids, budget) + effects_section(all, ids, budget);
  }
  if (part.baseline != nullptr) { text += baseline_section(all, *part.baseline); }
  text += answers_section("Answers", all.answers) + answers_section("Reasons", all.reasons) +
          traced_section(all, ids, budget) + roofline_section(all, ids, budget) +
          host_section(all, ids, budget) + epochs_section(all, ids, budget) +
          cells_section(all, ids, budget);
  return text + guards_section(all) + environment_section(all);
}

/// A line of links, and one of its links.
inline markup navigation(markup const& links) {
  return links.empty() ? links : element("nav", "", element("ul", "", links));
}
template <class Words>
markup link_to(std::string const& id, Words const& words) {
  return element("li", "", markup("<a href=\"#", id, "\">", words, "</a>"));
}

/// The part with an id in each title, and with links to all of them below its head.
inline markup with_links(markup const& text, std::string const& id) {
  markup out, links;
  auto const& all = text.str();
  std::size_t number = 0;
  constexpr std::string_view begin = "<h2>", end = "</h2>";
  auto const first = std::min(all.find(begin), all.size());
  auto from = first;
  for (auto at = first; at < all.size(); at = std::min(all.find(begin, from), all.size())) {
    auto const name = id + "-" + std::to_string(++number);
    auto const words = at + begin.size();
    links += link_to(name, text.slice(words, all.find(end, words)));
    out += text.slice(from, at) + markup("<h2 id=\"", name, "\">");
    from = words;
  }
  return text.slice(0, first) + navigation(links) + out + text.slice(from, all.size());
}

}  // namespace detail

ASSAY_INLINE std::string page(std::vector<page_part> const& parts) {
  markup body, links;
  detail::page_ids ids;
  for (auto const& each : parts) {
    detail::page_budget budget;
    auto text = detail::part_html(each, ids, budget);
    for (std::size_t marks = 4096; text.str().size() > page_limit && marks >= 8; marks /= 2) {
      budget = {marks, std::max<std::size_t>(marks / 16, 4)};
      text = detail::part_html(each, ids, budget);
    }
    auto const id = "part-" + ids.next();
    links += detail::link_to(id, each.of.title);
    body += markup("<section id=\"", id, "\">", detail::with_links(text, id), "</section>\n");
  }
  auto const title =
      parts.size() == 1 ? parts.front().of.title : std::to_string(parts.size()) + " comparisons";
  if (parts.size() > 1) { body = detail::navigation(links) + body; }
  return detail::whole_page(title.empty() ? "comparison" : title, body);
}

}  // namespace assay::report
