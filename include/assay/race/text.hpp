// SPDX-License-Identifier: Apache-2.0
/// @file
/// The text of a race: its winner, the survivors, the order, and a header with the winner's
/// constants.
#pragma once

#include <assay/race/names.hpp>
#include <assay/race/result.hpp>
#include <assay/report/format.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

namespace assay::report {
namespace detail {

/// The outcome in one sentence.
inline std::string race_sentence(measure::race_result const& of) {
  if (of.leader < 0) { return "NO WINNER: " + of.failure; }
  auto const all = std::to_string(of.racers.size());
  auto const margin = setting_percent(of.margin);
  auto const survivors = std::ranges::count_if(of.racers, &measure::racer::survived);
  auto const sure = " (false-alarm rate " + setting_percent(of.alpha) + ")";
  if (survivors == 1) { return "WINNER: " + of.winner() + " is the best of " + all + sure; }
  if (of.decided) {
    return "WINNER: " + of.winner() + ": none of " + all + " is faster by more than " + margin +
           sure;
  }
  auto const open = std::ranges::count_if(
      of.racers, [](auto const& each) { return each.survived && !each.bounded; });
  return "UNDECIDED: " + of.winner() + " leads " + all + ", and " + std::to_string(open) +
         " may be faster by more than " + margin +
         (of.failure.empty() ? ": resume it with more time (max_seconds) or epochs (max_epochs)"
                             : ": " + of.failure);
}

/// The state of a candidate at the end of a race.
inline std::string fate(measure::race_result const& of, std::size_t i) {
  auto const& each = of.racers[i];
  if (!each.out.empty()) { return each.out; }
  if (static_cast<int>(i) == of.leader) { return ""; }
  auto const epochs = std::to_string(each.slower + each.faster);
  if (!each.survived) {
    return "dropped: slower in " + std::to_string(each.slower) + " of " + epochs + " epochs";
  }
  return each.bounded ? "not told from the winner" : "may be faster";
}

inline std::string effort(measure::race_result const& of) {
  return std::to_string(of.epochs.size()) + " epochs in " + duration(of.seconds) + ", " +
         percent(of.cells_saved, 0) + " of the timed seconds saved" +
         (of.where.device.empty() ? of.where.host_cpu.empty() ? "" : ", on " + of.where.host_cpu
                                  : ", on " + of.where.device);
}

/// Text as lines of a comment.
inline std::string comment_lines(std::string const& text) {
  return wrapped(measure::detail::comment(text), "// ", "// ");
}

/// A whole number as an expression of C++; the smallest one has no literal.
inline std::string number_literal(long long value) {
  bool const smallest = value == std::numeric_limits<long long>::min();
  return smallest ? std::to_string(value + 1) + " - 1" : std::to_string(value);
}

}  // namespace detail

/// The winner in one sentence, a line for each of at most `lines` candidates in their order, and a
/// line on the effort.
inline std::string race_text(measure::race_result const& of, std::size_t lines = 12) {
  auto out = of.title.empty() ? "" : of.title + "\n";
  out += wrapped(detail::race_sentence(of) + ".", "", "  ");
  auto const order = of.order();
  auto const shown = std::min(lines, order.size());
  std::size_t widest = 0;
  for (std::size_t k = 0; k < shown; ++k) {
    widest = std::max(widest, of.racers[order[k]].name.size());
  }
  for (std::size_t k = 0; k < shown; ++k) {
    auto const& each = of.racers[order[k]];
    auto line = "  " + each.name + std::string(widest - each.name.size() + 2, ' ');
    if (std::isfinite(each.seconds)) {
      auto const time = duration(each.seconds);
      auto const lag = signed_percent(each.ratio - 1, 2) + " %";
      line += std::string(time.size() < 9 ? 9 - time.size() : 0, ' ') + time + "  ";
      if (static_cast<int>(order[k]) != of.leader) {
        line += std::string(lag.size() < 9 ? 9 - lag.size() : 0, ' ') + lag + "  ";
      }
    }
    line += detail::fate(of, order[k]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (shown < order.size()) { out += "  and " + std::to_string(order.size() - shown) + " more\n"; }
  for (auto const& each : of.notes) { out += wrapped(each, "  ", "  "); }
  return out + wrapped(detail::effort(of), "  ", "  ");
}

/// A header with the winner's name and constants, in a namespace of this name, and with the
/// evidence in its comment. Throws `std::invalid_argument` for names that C++ does not allow.
inline std::string race_header(measure::race_result const& of, std::string const& in = "tuning") {
  auto const& best = of.best();
  measure::detail::require_namespace(in);
  measure::detail::require_constants(best.parameters());
  auto out = detail::comment_lines("Found by a race of assay on " + of.where.started_at + ".") +
             detail::comment_lines(detail::race_sentence(of) + ".") +
             detail::comment_lines(detail::effort(of) + ", seed " + std::to_string(of.seed) + ".");
  for (auto const i : of.order()) {
    auto const& each = of.racers[i];
    if (!each.survived) { continue; }
    out += "//   " + measure::detail::comment(each.name) + ": " + duration(each.seconds) + "\n";
  }
  auto const text = [](std::string const& name, std::string const& value) {
    return "inline constexpr char const* " + name + " = \"" + measure::detail::literal(value) +
           "\";\n";
  };
  out += "#pragma once\n\nnamespace " + in + " {\n\n" + text("winner", best.name);
  for (auto const& [name, value] : best.constants) {
    out += "inline constexpr long long " + name + " = " + detail::number_literal(value) + ";\n";
  }
  for (auto const& [name, value] : best.texts) { out += text(name, value); }
  return out + "\n}  // namespace " + in + "\n";
}

}  // namespace assay::report
