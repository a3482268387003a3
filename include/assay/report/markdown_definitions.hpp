// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to markdown.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/headline.hpp>
#include <assay/report/markdown.hpp>
#include <assay/report/text_definitions.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

namespace detail {

/// Text that Markdown shows as it is, also in a table.
inline std::string markdown_text(std::string_view text) {
  std::string out;
  for (char const each : printable(text)) {
    if (std::string_view{"\\`*_[]|~#@"}.find(each) != std::string_view::npos) { out += '\\'; }
    out += each == '<'   ? "&lt;"
           : each == '>' ? "&gt;"
           : each == '&' ? "&amp;"
                         : std::string(1, each);
  }
  return out;
}

inline std::string markdown_row(std::vector<std::string> const& cells) {
  std::string row = "|";
  for (auto const& each : cells) { row += concat({" ", markdown_text(each), " |"}); }
  return row + "\n";
}

inline std::string markdown_head(std::vector<std::string> const& cells) {
  std::string line = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) { line += "---|"; }
  return concat({markdown_row(cells), line, "\n"});
}

/// A part that is opened by its title. Markdown needs the empty lines.
inline std::string markdown_details(std::string_view title, std::string const& inner) {
  if (inner.empty()) { return {}; }
  return concat(
      {"<details><summary>", markdown_text(title), "</summary>\n\n", inner, "\n</details>\n\n"});
}

inline std::string markdown_variants(measure::comparison const& all) {
  auto rows = markdown_head({"variant", "clock", "median", "quartiles", "cells"});
  for (auto const& each : all.variants) {
    for (auto const on : measure::all_clocks) {
      auto const& seconds = each.on(on);
      if (!std::isfinite(seconds.median)) { continue; }
      rows += markdown_row({each.label, std::string{to_string(on)}, duration(seconds.median),
                            concat({duration(seconds.q1), " - ", duration(seconds.q3)}),
                            std::to_string(seconds.count)});
    }
  }
  return rows;
}

}  // namespace detail

ASSAY_INLINE std::string markdown(measure::comparison const& all,
                                  measure::comparison const* baseline) {
  auto const first = headline_of(all);
  std::string out = "### " + detail::markdown_text(all.title.empty() ? "Comparison" : all.title);
  out += concat({"\n\n", first.verdict.empty() ? "" : concat({"**", first.verdict, "**: "}),
                 detail::markdown_text(first.sentence), "\n\n"});
  for (auto const& line : detail::typical_lines(all)) {
    out += detail::markdown_text(line) + "\n\n";
  }
  std::string others;
  out += detail::markdown_head({"contrast", "clock", "verdict", "effect"});
  for (auto const& each : all.findings) {
    (each.primary ? out : others) +=
        detail::markdown_row({each.contrast_name, std::string{to_string(each.on)},
                              detail::verdict_text(each), effect_and_interval(each)});
  }
  out += "\n";
  if (auto const line = detail::results_line(all); !line.empty()) {
    out += detail::markdown_text(line) + "\n\n";
  }
  if (!others.empty()) {
    others.insert(0, detail::markdown_head({"contrast", "clock", "verdict", "effect"}));
  }
  out += detail::markdown_details("Other clocks", others);
  out += detail::markdown_details("Variants", detail::markdown_variants(all));
  if (baseline != nullptr) {
    auto saved =
        concat({baseline_caveat, " Saved: ", detail::markdown_text(origin_text(*baseline)), ".\n\n",
                detail::markdown_head({"contrast", "clock", "effect", "saved effect"})});
    for (auto const& [now, then] : beside(all, *baseline)) {
      saved += detail::markdown_row(
          {now->contrast_name, std::string{to_string(now->on)}, effect_and_interval(*now),
           then == nullptr ? "not in the saved result" : effect_and_interval(*then)});
    }
    out += detail::markdown_details("Beside a saved result", saved);
  }
  std::string notes;
  for (auto const* list : {&all.caveats, &all.notes}) {
    for (auto const& each : *list) { notes += concat({"- ", detail::markdown_text(each), "\n"}); }
  }
  out += detail::markdown_details("Notes", notes);
  std::string where;
  for (auto const& [name, value] : detail::environment_lines(all)) {
    where += concat({"- ", name, ": ", detail::markdown_text(value), "\n"});
  }
  return out + detail::markdown_details("Environment", where);
}

}  // namespace assay::report
