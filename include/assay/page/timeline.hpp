// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. The section of a traced difference: waterfall, idle time by cause, and
/// timelines, which a script of the page zooms.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/parts.hpp>
#include <assay/page/waterfall.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report::detail {

/// The kinds of spans, in the order of a legend, each with the class of its colour: that of its
/// category in NVTX. Calls of CUDA are grey, since ranges of the host are blue. An unknown kind
/// looks like a range.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 11> span_kinds{
    {{"kernel", "s2"},
     {"graph", "s2"},
     {"copy", "s4"},
     {"set", "s1"},
     {"call", "host-call"},
     {"range", "s3"},
     {"range, CPU", "s0"},
     {"range, GPU", "s2"},
     {"range, transfer", "s4"},
     {"range, measurement", "s5"},
     {"range, allocation", "range-allocation"}}};
inline std::size_t span_rank(std::string_view kind) {
  auto const at =
      std::ranges::find(span_kinds, kind, &std::pair<std::string_view, std::string_view>::first);
  return at == span_kinds.end() ? 5 : static_cast<std::size_t>(at - span_kinds.begin());
}
inline std::string span_class(std::string_view kind) {
  return std::string{span_kinds[span_rank(kind)].second};
}

/// A file name as a relative address: all but plain characters are encoded, so that a name cannot
/// be anything else.
inline std::string encoded_name(std::string_view name) {
  constexpr std::string_view digits = "0123456789ABCDEF", plain = "._-";
  std::string text;
  for (char const letter : name) {
    auto const each = static_cast<unsigned char>(letter);
    if (std::isalnum(each) != 0 || plain.find(letter) != plain.npos) {
      text += letter;
    } else {
      text += '%';
      text += digits[each >> 4U];
      text += digits[each & 15U];
    }
  }
  return text;
}

/// The spans that a page draws: those with a lane and a name, the longest if there are too many.
inline std::vector<measure::timeline_span> drawn_spans(measure::timeline const& of,
                                                       std::size_t most) {
  auto spans = of.spans;
  std::erase_if(spans, [&](measure::timeline_span const& each) {
    auto const inside = [](int index, std::size_t size) {
      return static_cast<std::size_t>(index) < size;  // a negative one becomes huge
    };
    return !inside(each.lane, of.lanes.size()) ||
           !inside(each.name, std::min(of.names.size(), of.kinds.size()));
  });
  std::ranges::stable_sort(spans, std::greater{}, &measure::timeline_span::length_ns);
  spans.resize(std::min(spans.size(), most));
  return spans;
}

/// The spans, grouped by name. Each has its duration as a hint.
inline markup span_paths(measure::timeline const& of,
                         std::vector<measure::timeline_span> const& spans) {
  std::map<int, markup> paths;
  for (auto const& each : spans) {
    auto const length = std::to_string(each.length_ns);
    auto const at = static_cast<std::size_t>(each.name);
    auto const hint = of.kinds[at] + ": " + of.names[at] + ", " +
                      duration(static_cast<double>(each.length_ns) * 1e-9);
    paths[each.name] +=
        markup("<path d=\"M", std::to_string(each.begin_ns), " ", std::to_string(each.lane), ".15h",
               length, "v.7h-", length, "z\"><title>", hint, "</title></path>");
  }
  markup text;
  for (auto const& [name, path] : paths) {
    text += element("g", "bar " + span_class(of.kinds[static_cast<std::size_t>(name)]), path);
  }
  return text;
}

/// The spans by name, the largest sum first.
inline html_table span_table_of(measure::timeline const& of,
                                std::vector<measure::timeline_span> const& spans) {
  struct row {
    std::uint64_t count = 0;
    std::int64_t sum = 0, longest = 0;
    int name = 0;
  };
  std::map<int, row> by_name;
  for (auto const& each : spans) {
    auto& into = by_name[each.name];
    ++into.count;
    into.sum += each.length_ns;
    into.longest = std::max(into.longest, each.length_ns);
    into.name = each.name;
  }
  std::vector<row> all;
  for (auto const& [name, each] : by_name) { all.push_back(each); }
  std::ranges::stable_sort(all, std::greater{}, &row::sum);
  html_table rows{{"name", "kind", "shown", "time", "longest"}};
  for (auto const& each : all) {
    auto const at = static_cast<std::size_t>(each.name);
    rows.add({of.names[at], of.kinds[at], count_cell(each.count),
              time_cell(static_cast<double>(each.sum) * 1e-9),
              time_cell(static_cast<double>(each.longest) * 1e-9)});
  }
  return rows;
}

/// The buttons that zoom a timeline.
inline markup zoom_buttons(std::string const& of) {
  using button = std::array<std::string_view, 3>;
  constexpr std::array all{button{"in", "+", "zoom in"}, button{"out", "\xE2\x88\x92", "zoom out"},
                           button{"left", "\xE2\x86\x90", "earlier"},
                           button{"right", "\xE2\x86\x92", "later"},
                           button{"all", "all", "whole batch"}};
  markup text;
  for (auto const& [way, sign, words] : all) {
    text += markup("<button type=\"button\" data-zoom=\"", way, "\" aria-label=\"", words, "\">",
                   sign, "</button>");
  }
  return markup("<div class=\"zoom-keys\" role=\"group\" aria-label=\"", of, "\">", text, "</div>");
}

/// What the timelines of a difference have in common, so that they stand below each other.
struct timeline_frame {
  std::int64_t length_ns = 0;
  std::size_t letters = 0;
};
inline timeline_frame frame_of(measure::traced_difference const& of) {
  timeline_frame made;
  for (auto const* side : {&of.control, &of.variant}) {
    made.length_ns = std::max(made.length_ns, side->timeline.length_ns);
    for (auto const& each : side->timeline.lanes) {
      made.letters = std::max(made.letters, each.size());
    }
  }
  return made;
}

/// The timeline of the batch of one variant; empty where the record has none.
inline markup timeline_figure(measure::comparison const& all, measure::traced_variant const& of,
                              timeline_frame const& shared, page_ids& ids,
                              page_budget const& budget) {
  auto const& line = of.timeline;
  auto const spans = drawn_spans(line, budget.marks);
  if (spans.empty() || line.length_ns <= 0) { return {}; }
  auto const length = static_cast<double>(shared.length_ns);
  auto const unit = unit_for(length * 1e-9);
  axis x{.label = std::string{unit.name} + " since the batch began",
         .high = length,
         .text = [factor = unit.factor * 1e-9](double ns) { return plain_number(ns * factor); }};
  x.at = linear_ticks(0, length, 4);  // the labels of a zoomed view are longer
  auto lanes = line.lanes;
  std::ranges::reverse(lanes);  // the first one is on top
  auto const title = "Timeline of a batch, " + label_at(all, of.variant);
  chart drawn{title,
              "Spans of operations and ranges: the table has them by name.",
              x,
              axis_of(lanes),
              24 * static_cast<int>(lanes.size()),
              {true, true, shared.letters}};
  drawn.view(span_paths(line, spans), length, static_cast<double>(lanes.size()),
             unit.factor * 1e-9);
  std::vector<std::string> kinds;
  for (auto const& each : spans) {
    auto const& kind = line.kinds[static_cast<std::size_t>(each.name)];
    if (std::ranges::find(kinds, kind) == kinds.end()) { kinds.push_back(kind); }
  }
  std::ranges::sort(kinds, {}, span_rank);
  markup keys;
  for (auto const& each : kinds) {
    keys += element("li", "", box_key("bar span " + span_class(each)), each);
  }
  auto const kept = "It shows " + count(spans.size()) + " spans";
  auto const left = line.left_out + (line.spans.size() - spans.size());
  auto note = element(
      "p", left == 0 ? "note" : "left-out", kept,
      left == 0 ? ", which is all." : ", the longest; it leaves out " + count(left) + " others.");
  note += of.file.empty()
              ? element("p", "note", "With --trace X.json, the whole trace is a file for Perfetto.")
              : element("p", "note", "The whole trace, for Perfetto: <a href=\"",
                        encoded_name(of.file), "\">", of.file, "</a>, where the program wrote it.");
  figure const made{title,
                    {},
                    element("ul", "legend", keys) + zoom_buttons("Zoom of: " + title) +
                        drawn.svg(ids.next()) + note};
  return made.html() + span_table_of(line, spans)
                           .folded("spans by name, " + label_at(all, of.variant), budget.marks);
}

/// For each difference that was traced: its waterfall, idle time and timelines. A variant's
/// timeline stands where the variant is first traced.
inline markup traced_section(measure::comparison const& all, page_ids& ids,
                             page_budget const& budget) {
  markup text;
  for (auto const& each : all.traced) {
    text += element("h3", "", label_at(all, each.variant.variant), " against ",
                    label_at(all, each.control.variant)) +
            waterfall(all, each, ids, budget) + element("h4", "", "Idle time by cause") +
            idle_by_cause(all, each, ids, budget);
    auto const shared = frame_of(each);
    markup timelines;  // of one time scale; they zoom together
    for (auto const* side : {&each.control, &each.variant}) {
      if (!side->bound.empty()) {
        timelines += paragraph(label_at(all, side->variant) + " is bound by " + side->bound + ": " +
                               side->bound_reason + ".");
      }
      timelines += timeline_figure(all, *side, shared, ids, budget);
    }
    text += element("div", "timelines", timelines);
  }
  return text.empty() ? text : title_of("Where the time goes") + text;
}

}  // namespace assay::report::detail
