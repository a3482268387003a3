// SPDX-License-Identifier: Apache-2.0
/// @file
/// The short report of a comparison: its verdicts, its variants, its noise, and one advice.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/format.hpp>
#include <assay/report/words.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

namespace detail {

/// The verdict as text. An interaction has a word of its own, since it is neither fast nor slow.
inline std::string verdict_text(measure::finding const& found) {
  bool const resolved = stats::is_sign(found.outcome);
  std::string text{to_string(found.outcome)};
  if (resolved && found.what == measure::contrast::kind::interaction) { text = "DIFFERENT"; }
  return resolved && !found.exceeds_margin ? text + ", below margin" : text;
}

/// The most verdicts that have a sentence each; more of them have a line each.
inline constexpr std::ptrdiff_t most_sentences = 8;

/// A verdict in short: `SLOWER +5.67 % [+5.61, +5.72], n=1024: new against old (gpu clock)`.
inline std::string brief_verdict(measure::finding const& of) {
  auto const effect = effect_and_interval(of);
  return concat({verdict_text(of), effect.empty() ? "" : " " + effect, ", ", of.contrast_name, " (",
                 to_string(of.on), " clock)", of.reason.empty() ? "" : ": " + of.reason});
}

/// The verdicts on the primary clock, a sentence or a line for each.
inline std::string verdict_lines(comparison const& all, std::string_view indent) {
  std::string out;
  std::string last_reason;  // equal reasons in succession are printed once
  bool interaction = false;
  auto const primary = [](measure::finding const& each) { return each.primary; };
  bool const brief =
      std::count_if(all.findings.begin(), all.findings.end(), primary) > most_sentences;
  auto const further = std::string{indent} + "  ";
  for (auto const& found : all.findings) {
    if (!found.primary) { continue; }
    auto shown = found;
    if (!found.reason.empty() && found.reason == last_reason) { shown.reason = "the same reason"; }
    last_reason = found.reason;
    auto const text = verdict_text(found);
    interaction = interaction || text.starts_with("DIFFERENT");
    out += wrapped(brief ? brief_verdict(shown) : concat({text, ": ", sentence(shown, all), "."}),
                   indent, further);
    if (auto const typical = typical_sentence(found, all); !typical.empty()) {
      out += wrapped(typical, further, further);
    }
  }
  if (interaction) {
    out += wrapped("(DIFFERENT means that the effect of one choice depends on the other choice.)",
                   indent, further);
  }
  return out;
}

/// The sentences on typical calls of primary findings, each after the name of its contrast.
inline std::vector<std::string> typical_lines(comparison const& all) {
  std::vector<std::string> lines;
  for (auto const& each : all.findings) {
    auto const typical = each.primary ? typical_sentence(each, all) : "";
    if (!typical.empty()) { lines.push_back(concat({each.contrast_name, ": ", typical})); }
  }
  return lines;
}

/// `results: checked`, or `results: checked (a); not checked (b, c)` where variants differ. Empty
/// where no variant says it, as in the files of older versions.
inline std::string results_line(comparison const& all) {
  constexpr std::size_t most_names = 4;
  constexpr std::array kinds{measure::checks::all, measure::checks::part, measure::checks::none};
  std::array<std::vector<std::string>, kinds.size()> names;
  std::size_t used = 0;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    for (auto const& each : all.variants) {
      if (each.results == kinds[k]) { names[k].push_back(each.label); }
    }
    used += names[k].empty() ? 0U : 1U;
  }
  std::string text;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (names[k].empty()) { continue; }
    text += (text.empty() ? "results: " : "; ") + std::string{to_string(kinds[k])};
    if (used == 1) { return text; }
    for (std::size_t i = 0; i < std::min(names[k].size(), most_names); ++i) {
      text += (i == 0 ? " (" : ", ") + names[k][i];
    }
    auto const left_out = names[k].size() - std::min(names[k].size(), most_names);
    text += left_out > 0 ? concat({" and ", std::to_string(left_out), " more)"}) : ")";
  }
  return text;
}

/// The largest noise between epochs on the primary clock.
inline double largest_noise(comparison const& all) {
  double noise = 0;
  for (auto const& each : all.findings) {
    if (each.primary) { noise = std::max(noise, each.noise); }
  }
  return noise;
}

/// The first ceiling of a unit, or null. All shares are of one limit, so that they can be compared.
inline machine::ceiling const* limit(comparison const& all, machine::ceiling::unit of) {
  for (auto const& each : all.ceilings) {
    if (each.of == of && each.per_second > 0) { return &each; }
  }
  return nullptr;
}

/// `1.63 TB/s, 38.1 % of cudaMemcpy device to device`; empty where no bytes were declared.
inline std::string rate_of(comparison const& all, measure::variant_result const& each,
                           double seconds) {
  std::string text;
  if (each.bytes > 0) {
    auto const per_second = each.bytes / seconds;
    text = rate(per_second, "B");
    if (auto const* const most = limit(all, machine::ceiling::unit::bytes)) {
      text += concat({", ", percent(per_second / most->per_second, 1), " of ", most->name});
    }
  }
  if (each.flops > 0) { text += (text.empty() ? "" : ", ") + rate(each.flops / seconds, "FLOP"); }
  return text;
}

inline void variant_lines(std::string& out, comparison const& all) {
  std::size_t widest = 0;
  for (auto const& each : all.variants) { widest = std::max(widest, each.label.size()); }
  for (auto const& each : all.variants) {
    auto const seconds = each.on(all.primary).median;
    if (!std::isfinite(seconds)) { continue; }
    auto time = duration(seconds);
    time.insert(0, time.size() < 9 ? 9 - time.size() : 0, ' ');
    auto const rated = rate_of(all, each, seconds);
    out += concat({"  ", each.label, std::string(widest - each.label.size() + 2, ' '), time,
                   rated.empty() ? "" : "   " + rated, "\n"});
  }
}

/// Advice where a verdict is UNPROVEN or INCONCLUSIVE; else empty.
inline std::string advice(comparison const& all) {
  int needed = 0;
  bool inconclusive = false;
  for (auto const& each : all.findings) {
    if (!each.primary) { continue; }
    if (each.outcome == verdict::unproven && all.failure.empty()) {
      return "the full report has the guards; a quiet machine or longer work may help";
    }
    if (each.outcome == verdict::inconclusive && each.epochs_needed == 0 && !each.reason.empty()) {
      return "longer work in each call, or a wider margin, may settle it";
    }
    inconclusive = inconclusive || each.outcome == verdict::inconclusive;
    needed = std::max(needed, each.epochs_needed);
  }
  if (!inconclusive) { return {}; }
  if (needed == 0) { return "more time (max_seconds) or a wider margin may settle it"; }
  auto const seconds = std::ceil(1.2 * all.seconds * needed / std::max(1, all.epochs));
  return concat(
      {"about ", std::to_string(needed), " epochs would settle it in 4 of 5 cases: allow ",
       fixed(seconds, 0), " s (max_seconds)",
       needed > 96 ? concat({" and ", std::to_string(needed), " epochs (max_epochs)"}) : "",
       ", or a wider margin"});
}

}  // namespace detail

/// The short report: the verdicts in words with their clock, what changed the way of measuring, a
/// line for each variant, a line on results and on noise, and advice. With one verdict it has at
/// most 12 lines and one a variant.
inline std::string short_text(comparison const& all) {
  std::string out;
  if (!all.title.empty()) { out += all.title + "\n"; }
  out += detail::verdict_lines(all, "");
  auto const tells_failure = [&](measure::finding const& each) {
    return each.primary && each.reason == all.failure;
  };
  if (!all.failure.empty() &&
      std::none_of(all.findings.begin(), all.findings.end(), tells_failure)) {
    out += wrapped("Ended early: " + all.failure, "", "  ");
  }
  for (auto const& each : all.caveats) { out += wrapped(each, "  ", "    "); }
  detail::variant_lines(out, all);
  if (auto const text = detail::results_line(all); !text.empty()) {
    out += wrapped(text, "  ", "    ");
  }
  double const noise = detail::largest_noise(all);
  if (all.epochs > 0) {
    out += wrapped(concat({to_string(all.primary), " clock, ",
                           noise > 0 ? concat({"noise ", percent(noise), " between epochs, "}) : "",
                           std::to_string(all.epochs), " epochs in ", duration(all.seconds),
                           all.where.device.empty()
                               ? all.where.host_cpu.empty() ? "" : " on " + all.where.host_cpu
                               : " on " + all.where.device}),
                   "  ", "  ");
  }
  if (auto const text = detail::advice(all); !text.empty()) { out += wrapped(text, "  ", "  "); }
  return out;
}

}  // namespace assay::report

#ifndef ASSAY_DECLARED
#include <assay/report/short_text_definitions.hpp>
#endif
