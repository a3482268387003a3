// SPDX-License-Identifier: Apache-2.0
/// @file
/// `race_by_size`: a race for each of several sizes, and one table of what to use for which size.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/race.hpp>
#include <assay/race/names.hpp>
#include <assay/race/result.hpp>
#include <assay/report/format.hpp>
#include <assay/stats/signed_rank.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay {
namespace measure {

/// What to use up to a size, and the race behind it.
struct size_row {
  std::size_t size = 0, up_to = SIZE_MAX;
  std::string choice, next;  ///< `next`: the fastest of the others; empty where none was measured
  /// Time of `next` / time of `choice`, at 95 % for the epochs at which the race ended.
  estimate ratio{};
  race_result race;
};

/// What to use by size.
struct size_table {
  std::vector<size_row> rows;  ///< by size

  std::string const& choice(std::size_t size) const {
    for (auto const& each : rows) {
      if (size <= each.up_to) { return each.choice; }
    }
    throw std::logic_error("a table by size has no row");
  }
};

namespace detail {

/// The first candidate, in the order given, that is as fast as the winner within the margin and was
/// not dropped. So two candidates of one speed do not take turns from one run to the next.
inline std::size_t first_of_the_best(race_result const& of) {
  auto const winner = static_cast<std::size_t>(of.leader);
  for (std::size_t i = 0; i < winner; ++i) {
    if (of.racers[i].survived && of.racers[i].ratio <= 1 + of.margin) { return i; }
  }
  return winner;
}

/// The ratio of times of two candidates over their common epochs.
inline estimate ratio_of(race_result const& of, std::size_t variant, std::size_t control) {
  std::vector<double> logs;
  for (auto const& each : of.epochs) {
    double const ratio = std::log(each.seconds[variant] / each.seconds[control]);
    if (std::isfinite(ratio)) { logs.push_back(ratio); }
  }
  if (logs.empty()) { return {not_measured, 0}; }
  constexpr double alpha = 0.05;
  auto const found = stats::signed_rank_interval(
      logs, stats::signed_rank_critical_value(static_cast<std::int64_t>(logs.size()), alpha));
  return {std::exp(found.estimate), std::exp(found.low), std::exp(found.high), 1 - alpha};
}

inline size_row row_of(std::size_t size, race_result of) {
  (void)of.best();  // throws where nothing could be measured
  auto const chosen = first_of_the_best(of);
  size_row made{size, SIZE_MAX, of.racers[chosen].name, {}, {}, {}};
  for (auto const i : of.order()) {
    if (i == chosen || !std::isfinite(of.racers[i].ratio)) { continue; }
    made.next = of.racers[i].name;
    made.ratio = ratio_of(of, i, chosen);
    break;
  }
  made.race = std::move(of);
  return made;
}

}  // namespace detail

/// One race for each size. `race_of(size)` is that race. A choice holds up to the geometric mean
/// with the next size, as sizes usually grow by a factor. Throws `std::invalid_argument` unless the
/// sizes grow, and `std::runtime_error` for a race in which nothing could be measured.
inline size_table tabulated(std::vector<std::size_t> const& sizes,
                            std::function<race_result(std::size_t)> const& race_of) {
  if (sizes.empty() || sizes.front() == 0 ||
      std::ranges::adjacent_find(sizes, [](std::size_t a, std::size_t b) { return a >= b; }) !=
          sizes.end()) {
    throw std::invalid_argument("a table by size needs one or more sizes that grow from above 0");
  }
  size_table made;
  for (auto const size : sizes) {
    if (!made.rows.empty()) {
      auto& last = made.rows.back();
      last.up_to =
          std::max(last.size, static_cast<std::size_t>(std::sqrt(static_cast<double>(last.size) *
                                                                 static_cast<double>(size))));
    }
    made.rows.push_back(detail::row_of(size, race_of(size)));
  }
  return made;
}

}  // namespace measure

/// Finds the best candidate for each size: `race_by_size({1 << 10, 1 << 20}, make)`, where
/// `make(size)` returns a `std::vector<candidate>`. Candidates that are equal within the margin are
/// decided by their order.
template <class Make>
measure::size_table race_by_size(std::vector<std::size_t> const& sizes, Make make,
                                 options const& chosen = {}) {
  return measure::tabulated(sizes, [&](std::size_t size) { return race(make(size), chosen); });
}

namespace report {

/// The table as a header: rows of `up_to` and `choice` in a namespace of this name. Neighbours with
/// one choice are one row. The comment has the evidence of each size.
inline std::string size_header(measure::size_table const& of, std::string const& in = "tuning") {
  measure::detail::require_namespace(in);
  auto const& last = of.rows.at(of.rows.size() - 1).race;
  auto out = detail::comment_lines(
      concat({"Found by races of assay that ended on ", last.where.started_at, ", on ",
              last.where.device.empty() ? last.where.host_cpu : last.where.device, "."}));
  for (auto const& each : of.rows) {
    out +=
        concat({"//   ", std::to_string(each.size), ": ", measure::detail::comment(each.choice)});
    if (!each.next.empty()) {
      auto const& by = each.ratio;
      out +=
          concat({", against which ", measure::detail::comment(each.next), " takes ",
                  change_text(by.ratio, 2),
                  std::isfinite(by.high)
                      ? concat({" [", change_text(by.low, 2), ", ", change_text(by.high, 2), "]"})
                      : ", by too few epochs for an interval"});
    }
    out += each.race.decided ? "\n" : ", undecided\n";
  }
  out += concat({"#pragma once\n\n#include <cstddef>\n#include <cstdint>\n\nnamespace ", in,
                 " {\n\nstruct row {\n  std::size_t up_to;\n  char const* choice;\n};\n"
                 "inline constexpr row by_size[] = {\n"});
  for (std::size_t i = 0; i < of.rows.size(); ++i) {
    auto const& each = of.rows[i];
    if (i + 1 < of.rows.size() && of.rows[i + 1].choice == each.choice) { continue; }
    out += concat({"    {", each.up_to == SIZE_MAX ? "SIZE_MAX" : std::to_string(each.up_to),
                   ", \"", measure::detail::literal(each.choice), "\"},\n"});
  }
  return concat({out, "};\n\n}  // namespace ", in, "\n"});
}

}  // namespace report
}  // namespace assay
