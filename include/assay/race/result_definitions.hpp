// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to race/result.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/race/names.hpp>
#include <assay/race/result.hpp>
#include <assay/report/format.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <ostream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace assay::measure {

ASSAY_INLINE std::vector<std::string> racer::parameters() const {
  std::vector<std::string> names;
  for (auto const& each : constants) { names.push_back(each.first); }
  for (auto const& each : texts) { names.push_back(each.first); }
  return names;
}

ASSAY_INLINE std::string const& race_result::winner() const { return best().name; }
ASSAY_INLINE racer const& race_result::best() const {
  if (leader >= 0) { return racers[static_cast<std::size_t>(leader)]; }
  throw std::runtime_error("the race has no winner: " +
                           (failure.empty() ? "no epoch was run" : failure));
}
ASSAY_INLINE std::vector<std::string> race_result::survivors() const {
  std::vector<std::string> names;
  for (auto const i : order()) {
    if (racers[i].survived) { names.push_back(racers[i].name); }
  }
  return names;
}
ASSAY_INLINE std::vector<std::size_t> race_result::order() const {
  std::vector<std::size_t> all(racers.size());
  for (std::size_t i = 0; i < all.size(); ++i) { all[i] = i; }
  auto const key = [&](std::size_t i) {
    auto const& each = racers[i];
    int const group = static_cast<int>(i) == leader ? 0
                      : each.survived               ? 1
                      : each.out.empty()            ? 2
                                                    : 3;
    return std::tuple{group, std::isfinite(each.ratio) ? each.ratio : 1e300, i};
  };
  std::sort(all.begin(), all.end(), [&](auto a, auto b) { return key(a) < key(b); });
  return all;
}

ASSAY_INLINE std::ostream& operator<<(std::ostream& out, race_result const& of) {
  return out << report::race_text(of);
}

}  // namespace assay::measure

namespace assay::report {
namespace detail {

/// The outcome in one sentence.
inline std::string race_sentence(measure::race_result const& of) {
  if (of.leader < 0) { return "NO WINNER: " + of.failure; }
  auto const all = std::to_string(of.racers.size());
  auto const margin = setting_percent(of.margin);
  auto const survivors = std::ranges::count_if(of.racers, &measure::racer::survived);
  if (!of.decided && !of.failure.empty() && survivors == 1) {
    return concat({"UNDECIDED: ", of.winner(), " leads ", all, ": ", of.failure});
  }
  auto const sure = concat({" (false-alarm rate ", setting_percent(of.alpha), ")"});
  if (survivors == 1) { return concat({"WINNER: ", of.winner(), " is the best of ", all, sure}); }
  if (of.decided) {
    return concat(
        {"WINNER: ", of.winner(), ": none of ", all, " is faster by more than ", margin, sure});
  }
  auto const open = std::ranges::count_if(
      of.racers, [](auto const& each) { return each.survived && !each.bounded; });
  return concat({"UNDECIDED: ", of.winner(), " leads ", all, ", and ", std::to_string(open),
                 " may be faster by more than ", margin,
                 of.failure.empty()
                     ? ": resume it with more time (max_seconds) or epochs (max_epochs)"
                     : ": " + of.failure});
}

/// The state of a candidate at the end of a race.
inline std::string fate(measure::race_result const& of, std::size_t i) {
  auto const& each = of.racers[i];
  if (!each.out.empty()) { return each.out; }
  if (static_cast<int>(i) == of.leader) { return ""; }
  auto const epochs = std::to_string(each.slower + each.faster);
  if (!each.survived) {
    return concat({"dropped: slower in ", std::to_string(each.slower), " of ", epochs, " epochs"});
  }
  return each.bounded ? "not told from the winner" : "may be faster";
}

inline std::string effort(measure::race_result const& of) {
  return concat({std::to_string(of.epochs.size()), " epochs in ", duration(of.seconds), ", ",
                 percent(of.cells_saved, 0), " of the timed seconds saved",
                 of.where.device.empty()
                     ? of.where.host_cpu.empty() ? "" : ", on " + of.where.host_cpu
                     : ", on " + of.where.device});
}

/// A whole number as an expression of C++; the smallest one has no literal.
inline std::string number_literal(long long value) {
  bool const smallest = value == std::numeric_limits<long long>::min();
  return smallest ? std::to_string(value + 1) + " - 1" : std::to_string(value);
}

}  // namespace detail

ASSAY_INLINE std::string race_text(measure::race_result const& of, std::size_t lines) {
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
    auto line = concat({"  ", each.name, std::string(widest - each.name.size() + 2, ' ')});
    if (std::isfinite(each.seconds)) {
      auto const time = duration(each.seconds);
      auto const lag = change_text(each.ratio, 2);
      line += concat({std::string(time.size() < 9 ? 9 - time.size() : 0, ' '), time, "  "});
      if (static_cast<int>(order[k]) != of.leader) {
        line += concat({std::string(lag.size() < 9 ? 9 - lag.size() : 0, ' '), lag, "  "});
      }
    }
    line += detail::fate(of, order[k]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (shown < order.size()) {
    out += concat({"  and ", std::to_string(order.size() - shown), " more\n"});
  }
  for (auto const& each : of.notes) { out += wrapped(each, "  ", "  "); }
  return out + wrapped(detail::effort(of), "  ", "  ");
}

ASSAY_INLINE std::string race_header(measure::race_result const& of, std::string const& in) {
  auto const& best = of.best();
  measure::detail::require_namespace(in);
  measure::detail::require_constants(best.parameters());
  auto out =
      detail::comment_lines(concat({"Found by a race of assay on ", of.where.started_at, "."})) +
      detail::comment_lines(detail::race_sentence(of) + ".") +
      detail::comment_lines(concat({detail::effort(of), ", seed ", std::to_string(of.seed), "."}));
  for (auto const i : of.order()) {
    auto const& each = of.racers[i];
    if (!each.survived) { continue; }
    out +=
        concat({"//   ", measure::detail::comment(each.name), ": ", duration(each.seconds), "\n"});
  }
  auto const text = [](std::string const& name, std::string const& value) {
    return concat(
        {"inline constexpr char const* ", name, " = \"", measure::detail::literal(value), "\";\n"});
  };
  out += concat({"#pragma once\n\nnamespace ", in, " {\n\n", text("winner", best.name)});
  for (auto const& [name, value] : best.constants) {
    out +=
        concat({"inline constexpr long long ", name, " = ", detail::number_literal(value), ";\n"});
  }
  for (auto const& [name, value] : best.texts) { out += text(name, value); }
  return concat({out, "\n}  // namespace ", in, "\n"});
}

}  // namespace assay::report
