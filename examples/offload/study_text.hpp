// SPDX-License-Identifier: Apache-2.0
/// @file
/// A `dispatch_study` as text and as CSV.
#pragma once

#include "prediction_errors.hpp"
#include "study.hpp"

#include <assay/core/csv.hpp>
#include <assay/core/memory_type.hpp>
#include <assay/report/csv.hpp>
#include <assay/report/format.hpp>
#include <assay/report/table.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {

/// `host{1}, from 12000 on [11000, 13000] host{4}`: the paths with the least predicted time.
inline std::string regions_in_words(dispatch::costs const& of, std::vector<region> const& regions) {
  using detail::whole;
  std::string text;
  for (auto const& each : regions) {
    if (!text.empty()) {
      text += ", from " + whole(each.from.size) + " on [" + whole(each.from.low) + ", " +
              whole(each.from.high) + "] ";
    }
    text += of.paths()[each.path].where.describe();
  }
  return text;
}

namespace detail {

/// `12100, 1.2 % off`: what bisection found of a predicted crossover.
inline std::string in_words(crossover_check const& of) {
  if (!of.predicted.known) { return "-"; }
  if (of.crossings.empty()) { return of.right ? "confirmed" : "WRONG"; }
  std::string text;
  for (auto const& each : of.crossings) {
    text += text.empty() ? "" : ", ";
    text += each.measured > 0
                ? whole(each.measured) + ", " + report::fixed(100 * each.error(), 1) + " % off"
                : "none there";
  }
  return text;
}

/// A share as a number of hundredths, for columns with the percent sign in the heading.
inline std::string in_hundredths(double share) { return report::fixed(100 * share, 1); }

/// Median and 90 % quantile of values.
struct spread {
  double median, p90;
};
inline spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {stats::quantile(values, 0.5), stats::quantile(values, 0.9)};
}

}  // namespace detail

/// The sizes at which the last path is faster than each other path, what bisection found there, and
/// the fastest paths of all.
inline void crossovers(std::ostream& out, dispatch_study const& study) {
  auto const& paths = study.of.paths();
  auto const& last = paths.back();
  report::table shown{{"arrays", "path", last.where.describe() + " is faster", "bisected"},
                      {1, 2, 3}};
  for (auto const& kind : study.kinds) {
    std::size_t number = 0;
    for (auto const& each : paths) {
      bool const compared = &each != &last && each.wrong.empty() && last.wrong.empty();
      if (!kind.at || !compared) { continue; }
      shown.add({kind.name, "than " + each.where.describe(),
                 find_crossover(study.of, each.where, last.where, kind.at).sizes_of_second(),
                 number < kind.checks.size() ? detail::in_words(kind.checks[number]) : "-"});
      ++number;
    }
  }
  if (!shown.empty()) { shown.print(out); }
  for (auto const& kind : study.kinds) {
    if (!kind.at) { continue; }
    out << "  fastest, " << kind.name << ": "
        << regions_in_words(study.of, find_regions(study.of, kind.at)) << '\n';
  }
  for (auto const& each : paths) {
    if (!each.wrong.empty()) {
      out << "  " << each.where.describe() << " is WRONG " << each.wrong << '\n';
    }
  }
}

/// The thresholds of a sweep over all sizes, beside those that the model predicts by the same rule.
inline void offload_thresholds(std::ostream& out, dispatch_study const& study) {
  report::table shown{{"threshold by GPU-BLOB's rule", "host path", "swept", "predicted"}, {1}};
  auto const size = [](std::size_t of) { return of == 0 ? "none" : std::to_string(of); };
  double seconds = 0;
  for (auto const& kind : study.kinds) {
    if (!kind.sweep) { continue; }
    seconds += kind.sweep->seconds;
    for (auto const& each : kind.sweep->rows) {
      shown.add({kind.name, study.of.paths()[each.host].where.describe(), size(each.swept),
                 size(each.predicted)});
    }
  }
  if (shown.empty()) { return; }
  shown.print(out);
  out << "  calls of the sweep: " << report::fixed(seconds, 1)
      << " s; calibration with its arrays: " << report::fixed(study.calibration_seconds, 1)
      << " s, 1/" << report::fixed(seconds / study.calibration_seconds, 0) << " of it\n";
}

/// The errors of predictions over the held-out calls of each kind on each path, and how many calls
/// the intervals hold. Beside them stand the errors of a half of the repetitions against both
/// halves, and below them those of traced stages. A median with its sign that all host paths share
/// is the speed of the host: it has changed since the calibration.
inline void prediction_errors(std::ostream& out, dispatch_study const& study) {
  constexpr double long_enough = 50e-6;  // the recorder costs some microseconds
  report::table shown{
      {"error in %", "path", "calls", "held", "with sign", "median", "p90", "noise, median", "p90"},
      {1}};
  report::table stages{{"stage, error in %", "arrays", "stages of 50 us and more", "median", "p90"},
                       {1}};
  for (auto const& kind : study.kinds) {
    auto const all = call_errors(study.of, kind.timed);
    for (std::size_t p = 0; p < study.of.paths().size(); ++p) {
      std::vector<double> with_sign, errors, noise;
      std::ptrdiff_t held = 0;
      for (auto const& each : all) {
        if (each.path != p) { continue; }
        with_sign.push_back(each.of_prediction);
        errors.push_back(std::abs(each.of_prediction));
        noise.push_back(each.of_noise);
        held += each.held ? 1 : 0;
      }
      if (errors.empty()) { continue; }
      auto const [of, is] = std::pair{detail::spread_of(errors), detail::spread_of(noise)};
      shown.add({kind.name, study.of.paths()[p].where.describe(), std::to_string(errors.size()),
                 std::to_string(held), detail::in_hundredths(detail::spread_of(with_sign).median),
                 detail::in_hundredths(of.median), detail::in_hundredths(of.p90),
                 detail::in_hundredths(is.median), detail::in_hundredths(is.p90)});
    }
    std::map<std::string, std::vector<double>> by_stage;
    for (auto const& each : stage_pairs(study.of, kind.traced)) {
      if (each.traced < long_enough) { continue; }
      by_stage[each.stage].push_back(std::abs(each.predicted / each.traced - 1));
    }
    for (auto const& [stage, errors] : by_stage) {
      auto const of = detail::spread_of(errors);
      stages.add({stage, kind.name, std::to_string(errors.size()), detail::in_hundredths(of.median),
                  detail::in_hundredths(of.p90)});
    }
  }
  if (!shown.empty()) { shown.print(out); }
  if (!stages.empty()) { stages.print(out); }
}

namespace detail {

/// A table of regrets, and the model beside the best rival. `named`: by the names of the rows.
inline void print_regrets(std::ostream& out, std::vector<regret_row> const& rows,
                          std::vector<call_kind> const& kinds, bool named) {
  if (rows.empty()) { return; }
  std::vector<std::string> head{"regret in %"};
  for (std::size_t k = 0; k < rows.front().kinds.size(); ++k) { head.push_back(kinds[k].name); }
  for (auto const* each : {"all", "mean from 5 us", "p95", "max"}) { head.emplace_back(each); }
  report::table shown{head};
  auto const add = [&](std::string name, regret_row const& row, auto const& total) {
    std::vector<std::string> cells{std::move(name)};
    for (auto const& each : row.kinds) { cells.push_back(in_hundredths(total(each))); }
    cells.push_back(in_hundredths(total(row.all)));
    return cells;
  };
  auto const label = [&](regret_row const& row) {
    bool const rule = row.name.find('>') != std::string::npos;
    constexpr std::string_view room = "choose::";
    auto const& chooser = row.all.chooser;
    if (named || rule) { return row.name; }
    return chooser.starts_with(room) ? chooser.substr(room.size()) : chooser;
  };
  for (auto const& each : rows) {
    auto cells = add(label(each), each, [](auto const& of) { return of.total; });
    for (double const of : {each.all.mean, each.all.p95, each.all.max}) {
      cells.push_back(each.all.single.empty() ? "-" : in_hundredths(of));
    }
    shown.add(std::move(cells));
  }
  shown.add(add("noise floor", rows.front(), [](auto const& of) { return of.noise_floor; }));
  shown.print(out);
  auto const* const rival = best_rival(rows);
  if (rival == nullptr) { return; }
  out << "  the best rival is " << label(*rival);
  if (rival->all.total > rows.front().all.noise_floor) {
    out << "; the regret of the model is "
        << report::fixed(rows.front().all.total / rival->all.total, 2) << " of its regret\n";
  } else {
    out << ", and its regret is noise\n";
  }
}

}  // namespace detail

/// The total regret of each chooser by the kind of calls, and that of single calls of 5 us and
/// more.
inline void regrets(std::ostream& out, dispatch_study const& study) {
  detail::print_regrets(out, judge_choosers(study), study.kinds, false);
}

/// The same of all tasks together, the errors of predictions by place, and how many crossovers were
/// right.
inline void totals(std::ostream& out, std::vector<dispatch_study> const& all) {
  std::vector<std::vector<regret_row>> rows;
  std::array<std::vector<double>, 2> errors;  // of host paths, of device paths
  int close = 0, inside = 0, crossings = 0, right = 0, verdicts = 0;
  for (auto const& study : all) {
    rows.push_back(judge_choosers(study));
    for (auto const& each : call_errors(study.of, study.all_calls())) {
      bool const on_host = study.of.paths()[each.path].where.host() != nullptr;
      errors[on_host ? 0 : 1].push_back(std::abs(each.of_prediction));
    }
    for (auto const& kind : study.kinds) {
      for (auto const& check : kind.checks) {
        if (!check.predicted.known) { continue; }
        if (check.crossings.empty()) { ++verdicts, right += check.right ? 1 : 0; }
        for (auto const& each : check.crossings) {
          auto const& said = each.predicted;
          if (!(said.low > 0) || !std::isfinite(said.high)) { continue; }  // nearly equal paths
          ++crossings;
          close += each.error() <= 0.05 ? 1 : 0;
          inside += each.measured >= said.low && each.measured <= said.high ? 1 : 0;
        }
      }
    }
  }
  if (all.empty()) { return; }
  auto const sums = added_rows(rows);
  detail::print_regrets(out, sums, all.front().kinds, true);
  for (auto const& study : all) {
    for (std::size_t k = sums.empty() ? 0 : sums.front().kinds.size(); k < study.kinds.size();
         ++k) {
      out << "  \"all\" also has the calls of " << study.of.task() << ", " << study.kinds[k].name
          << '\n';
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (errors[i].empty()) { continue; }
    auto const of = detail::spread_of(errors[i]);
    out << "  errors of predictions, " << (i == 0 ? "host" : "device") << " paths: median "
        << detail::in_hundredths(of.median) << " %, p90 " << detail::in_hundredths(of.p90)
        << " %\n";
  }
  if (crossings + verdicts == 0) { return; }
  out << "  of " << crossings << " crossovers bisection found " << close << " within 5 %, and "
      << inside << " within their intervals; \"never\" and \"always\" confirmed: " << right
      << " of " << verdicts << '\n';
}

namespace csv {

namespace detail {

/// `host_4` or `device_0`: a path as part of the name of a column.
inline std::string column_of(dispatch::path const& of) {
  auto text = of.describe();
  std::erase(text, '}');
  std::ranges::replace_if(text, [](char each) { return each == '{'; }, '_');
  return text;
}

/// The memory of the arrays that a call has on the host: `none`, a type, or `mixed`.
inline std::string_view memory_of(dispatch::facts const& known) {
  std::string_view found = "none";
  for (std::size_t i = 0; i < known.count; ++i) {
    std::string_view const its = in_words(known.arrays[i].memory);
    found = found == "none" || found == its ? its : "mixed";
  }
  return found;
}

}  // namespace detail

/// One record per timed call: `set` is `training`, `held_out` or `traced`.
///
/// Columns `before_*` are known before a call. Columns `after_*` are measured. `after_first_*` and
/// `after_second_*` are the medians of both halves of the repetitions, in seconds. `after_best` is
/// the path with the least sum of both. The others are what a trace shows of a call on a device.
/// `chosen_by_model` and `chosen_by_tree` are the paths that choosers pick.
inline void timed_calls(std::ostream& out, dispatch_study const& study) {
  auto const& paths = study.of.paths();
  out << "set,before_kind,before_memory,before_size,before_bytes,before_flops,before_bytes_in,"
         "before_bytes_out,before_pageable_bytes_in,before_pageable_bytes_out";
  for (auto const& each : paths) {
    auto const name = detail::column_of(each.where);
    out << ",after_first_" << name << ",after_second_" << name;
  }
  std::vector<std::string> traced;  // the names of all traced values, in order
  for (auto const& kind : study.kinds) {
    for (auto const& call : kind.traced.calls) {
      for (auto const& [name, value] : call.traced) {
        if (std::ranges::count(traced, name) == 0) { traced.push_back(name); }
      }
    }
  }
  for (auto const& each : traced) { out << ",after_" << each; }
  auto const tree = study.trained_tree();
  out << ",after_best,chosen_by_model" << (tree ? ",chosen_by_tree\n" : "\n");
  auto const add = [&](std::string_view set, std::string_view kind,
                       measure::timed_calls::call const& call) {
    auto const& known = call.known;
    double in = 0, back = 0, pageable_in = 0, pageable_back = 0;
    for (std::size_t i = 0; i < known.count; ++i) {
      auto const& each = known.arrays[i];
      double const read = each.is_read() ? each.bytes : 0;
      double const written = each.is_written() ? each.bytes : 0;
      in += read, back += written;
      if (each.memory == memory_type::pageable) { pageable_in += read, pageable_back += written; }
    }
    assay::csv::fields(out, set, kind, detail::memory_of(known), known.amount.size,
                       known.amount.bytes, known.amount.flops, in, back, pageable_in,
                       pageable_back);
    std::size_t best = 0;
    auto const sum = [&](std::size_t p) { return call.halves[0][p] + call.halves[1][p]; };
    for (std::size_t p = 0; p < paths.size(); ++p) {
      out << ',';
      assay::csv::fields(out, call.halves[0][p], call.halves[1][p]);
      if (sum(p) < sum(best)) { best = p; }
    }
    for (auto const& name : traced) {
      double value = std::numeric_limits<double>::quiet_NaN();  // an empty field
      for (auto const& [its_name, its_value] : call.traced) {
        if (its_name == name) { value = its_value; }
      }
      out << ',';
      assay::csv::fields(out, value);
    }
    out << ',' << detail::column_of(paths[best].where) << ','
        << detail::column_of(study.of.choose(known));
    if (tree) { out << ',' << detail::column_of(paths[tree->bound(study.of)(known)].where); }
    out << '\n';
  };
  for (auto const& kind : study.kinds) {
    for (auto const& call : kind.training.calls) { add("training", kind.name, call); }
    for (auto const& call : kind.timed.calls) { add("held_out", kind.name, call); }
    for (auto const& call : kind.traced.calls) { add("traced", kind.name, call); }
  }
}

}  // namespace csv
}  // namespace assay::examples
