// SPDX-License-Identifier: Apache-2.0
/// @file
/// A `measure::dispatch_study` as text and as CSV.
#pragma once

#include <assay/core/memory_type.hpp>
#include <assay/dispatch/crossover.hpp>
#include <assay/measure/regret.hpp>
#include <assay/report/csv.hpp>
#include <assay/report/format.hpp>
#include <assay/report/table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

/// `host{1}, from 12000 on [11000, 13000] host{4}`: the paths with the least predicted time.
inline std::string regions_in_words(dispatch::costs const& of,
                                    std::vector<dispatch::region> const& regions) {
  using dispatch::detail::whole;
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

/// The sizes at which the last path is faster than each other path, and the fastest paths of all.
inline void crossovers(std::ostream& out, measure::dispatch_study const& study) {
  auto const& paths = study.of.paths();
  auto const& last = paths.back();
  table shown{{"arrays", "path", last.where.describe() + " is faster"}, {1, 2}};
  for (auto const& kind : study.kinds) {
    for (auto const& each : paths) {
      if (&each == &last || !each.wrong.empty() || !last.wrong.empty()) { continue; }
      shown.add({kind.name, "than " + each.where.describe(),
                 find_crossover(study.of, each.where, last.where, kind.at).sizes_of_second()});
    }
  }
  if (!shown.empty()) { shown.print(out); }
  for (auto const& kind : study.kinds) {
    out << "  fastest, " << kind.name << ": "
        << regions_in_words(study.of, find_regions(study.of, kind.at)) << '\n';
  }
  for (auto const& each : paths) {
    if (!each.wrong.empty()) {
      out << "  " << each.where.describe() << " is WRONG " << each.wrong << '\n';
    }
  }
}

/// The total regret of each chooser by the kind of calls, and the regret of single calls of 2 us
/// and more.
inline void regrets(std::ostream& out, measure::dispatch_study const& study) {
  auto const rows = judge_choosers(study);
  if (rows.empty()) { return; }
  std::vector<std::string> head{"regret in %"};
  for (auto const& kind : study.kinds) { head.push_back(kind.name); }
  for (auto const* each : {"all", "p95 from 2 us", "max"}) { head.emplace_back(each); }
  table shown{head};
  auto const share = [](double value) { return fixed(100 * value, 1); };
  auto const add = [&](std::string name, measure::regret_row const& row, auto const& total) {
    std::vector<std::string> cells{std::move(name)};
    for (auto const& each : row.kinds) { cells.push_back(share(total(each))); }
    cells.push_back(share(total(row.all)));
    return cells;
  };
  for (auto const& each : rows) {
    auto cells = add(each.all.chooser.substr(std::string_view{"choose::"}.size()), each,
                     [](auto const& of) { return of.total; });
    cells.push_back(each.longer ? share(each.longer->p95) : "-");
    cells.push_back(each.longer ? share(each.longer->max) : "-");
    shown.add(std::move(cells));
  }
  shown.add(add("noise floor", rows.front(), [](auto const& of) { return of.noise_floor; }));
  shown.print(out);
}

namespace csv {

namespace detail {

/// `host_4`, `device_0` or `device_0_staged`: a path as part of the name of a column.
inline std::string column_of(dispatch::path const& of) {
  auto text = of.describe();
  std::erase(text, '}');
  std::ranges::replace_if(text, [](char each) { return each == '{' || each == '/'; }, '_');
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

/// One record per timed call: `set` is `training` or `held_out`. Columns `before_*` are known
/// before a call, columns `after_*` are measured: the medians of both halves of the repetitions on
/// each path, in seconds, and the path with the least sum of both. `chosen_by_model` and
/// `chosen_by_tree` are the paths that choosers pick.
inline void timed_calls(std::ostream& out, measure::dispatch_study const& study) {
  auto const& paths = study.of.paths();
  out << "set,before_kind,before_memory,before_size,before_bytes,before_flops,before_bytes_in,"
         "before_bytes_out";
  for (auto const& each : paths) {
    auto const name = detail::column_of(each.where);
    out << ",after_first_" << name << ",after_second_" << name;
  }
  auto const tree = study.tree();
  out << ",after_best,chosen_by_model" << (tree ? ",chosen_by_tree\n" : "\n");
  auto const add = [&](std::string_view set, std::string_view kind,
                       measure::timed_calls::call const& call) {
    auto const& known = call.known;
    double in = 0, back = 0;
    for (std::size_t i = 0; i < known.count; ++i) {
      auto const& each = known.arrays[i];
      in += each.is_read() ? each.bytes : 0;
      back += each.is_written() ? each.bytes : 0;
    }
    fields(out, set, kind, detail::memory_of(known), known.amount.size, known.amount.bytes,
           known.amount.flops, in, back);
    std::size_t best = 0;
    auto const sum = [&](std::size_t p) { return call.halves[0][p] + call.halves[1][p]; };
    for (std::size_t p = 0; p < paths.size(); ++p) {
      out << ',';
      fields(out, call.halves[0][p], call.halves[1][p]);
      if (sum(p) < sum(best)) { best = p; }
    }
    out << ',' << detail::column_of(paths[best].where) << ','
        << detail::column_of(study.of.choose(known));
    if (tree) { out << ',' << detail::column_of(paths[tree->bound(study.of)(known)].where); }
    out << '\n';
  };
  for (auto const& kind : study.kinds) {
    for (auto const& call : kind.training.calls) { add("training", kind.name, call); }
    for (auto const& call : kind.timed.calls) { add("held_out", kind.name, call); }
  }
}

}  // namespace csv
}  // namespace assay::report
