// SPDX-License-Identifier: Apache-2.0
/// @file
/// `dispatch_study`: all that the dispatch experiment measures about a task.
#pragma once

#include "best_threshold.hpp"
#include "crossover_check.hpp"
#include "offload_sweep.hpp"
#include "rivals.hpp"
#include "tree.hpp"

#include <assay/measure/regret.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// Calls of one kind, such as those whose arrays are in pinned memory.
struct call_kind {
  std::string name;
  /// The facts of a call by its size; none where the size does not decide them.
  std::function<dispatch::facts(std::size_t)> at = dispatch::facts_of_size;
  measure::timed_calls timed{};     ///< judges choosers
  measure::timed_calls training{};  ///< for choosers that learn from calls; may be empty
  measure::timed_calls traced{};  ///< traced and timed last, since a tracer may disturb later calls
  std::vector<crossover_check> checks{};  ///< the last path against each other one
  std::optional<offload_sweep> sweep{};
};

/// A threshold that others use, and its name: `cbrt(m n k) > 500`.
struct fixed_rule {
  std::string name;
  dispatch::choose::threshold policy;
};

/// All that is known of one task. Reports and charts show it.
struct dispatch_study {
  dispatch::costs of;
  std::vector<call_kind> kinds{};
  std::vector<fixed_rule> rules{};  ///< rivals that others published
  double calibration_seconds = 0;

  /// The calls of all kinds that judge.
  measure::timed_calls all_calls() const { return joined(&call_kind::timed); }
  /// The tree that the training calls of all kinds give; none where there are no such calls.
  std::optional<examples::tree> trained_tree() const {
    std::vector<tree_row> rows;
    for (auto const& each : joined(&call_kind::training).calls) {
      auto& row = rows.emplace_back(tree_row{each.known, each.halves[0]});
      for (std::size_t p = 0; p < row.seconds.size(); ++p) { row.seconds[p] += each.halves[1][p]; }
    }
    if (rows.empty()) { return {}; }
    std::vector<dispatch::path> paths;
    for (auto const& each : of.paths()) { paths.push_back(each.where); }
    return train_tree(paths, rows);
  }

 private:
  measure::timed_calls joined(measure::timed_calls call_kind::*which) const {
    measure::timed_calls all;
    for (auto const& each : kinds) {
      auto const& some = (each.*which).calls;
      all.calls.insert(all.calls.end(), some.begin(), some.end());
    }
    return all;
  }
};

/// The regret of one chooser: of the calls of each kind, and of all calls.
struct regret_row {
  std::string name;       ///< the same for each task: `tuned threshold`
  bool is_rival = false;  ///< it is neither the model nor the tree
  std::vector<measure::regret> kinds{};
  measure::regret all{};
};

/// The regrets of the model and of its rivals. These are the tree if there are training calls, the
/// history, the power law, the best threshold in hindsight, the rules of the study, and each path
/// for all calls.
inline std::vector<regret_row> judge_choosers(dispatch_study const& study) {
  namespace choose = dispatch::choose;
  auto const all = study.all_calls();
  std::vector<regret_row> rows;
  if (all.calls.empty()) { return rows; }
  auto const add = [&](auto const& policy, std::string name, bool is_rival = true) {
    regret_row row{std::move(name), is_rival};
    for (auto const& each : study.kinds) {
      row.kinds.push_back(measure::judge(each.timed, study.of, policy));
    }
    row.all = measure::judge(all, study.of, policy);
    rows.push_back(std::move(row));
  };
  add(choose::by_model{}, "model", false);
  if (auto const tree = study.trained_tree()) { add(*tree, "tree", false); }
  add(history{}, "history");
  add(power_law{}, "power law");
  add(best_threshold(all, study.of), "tuned threshold");
  for (auto const& each : study.rules) { add(each.policy, each.name); }
  for (auto const& each : study.of.paths()) {
    if (each.wrong.empty()) { add(choose::always{each.where}, "always " + each.where.describe()); }
  }
  return rows;
}

/// The rows of several tasks as one, of the choosers that all tasks have. Kinds are added by their
/// number, as far as all tasks have them.
inline std::vector<regret_row> added_rows(std::vector<std::vector<regret_row>> const& tasks) {
  std::vector<regret_row> sums;
  for (auto const& each : tasks.empty() ? std::vector<regret_row>{} : tasks.front()) {
    auto sum = each;
    std::size_t found = 1;
    for (std::size_t t = 1; t < tasks.size(); ++t) {
      for (auto const& other : tasks[t]) {
        if (other.name != sum.name) { continue; }
        ++found;
        sum.kinds.resize(std::min(sum.kinds.size(), other.kinds.size()));
        sum.all += other.all;
        for (std::size_t k = 0; k < sum.kinds.size(); ++k) { sum.kinds[k] += other.kinds[k]; }
      }
    }
    if (found == tasks.size()) { sums.push_back(std::move(sum)); }
  }
  return sums;
}

/// The rival with the least total regret; null without rivals.
inline regret_row const* best_rival(std::vector<regret_row> const& rows) {
  regret_row const* best = nullptr;
  for (auto const& each : rows) {
    if (each.is_rival && (best == nullptr || each.all.total < best->all.total)) { best = &each; }
  }
  return best;
}

/// What `study_dispatch` measures of a task.
template <dispatch::task T>
struct study_options {
  measure::calibration<T> calibrated;
  /// The facts of a call with all arrays in one type of memory.
  std::function<dispatch::facts(std::size_t size, memory_type)> facts_at;
  std::size_t calls = 200;     ///< held-out calls of each kind
  std::size_t training = 100;  ///< calls of each kind from which the tree learns
  std::size_t sweep_to = 0;    ///< the last size of a sweep over all sizes; 0: none
  bool bisects = true;         ///< looks for the predicted crossovers by timing calls
  std::vector<fixed_rule> rules{};
  /// Makes calls of about a size, of other shapes than the calibrated ones. They are one more kind.
  std::function<T(setup& arrays, std::size_t size)> make_other{};
  std::size_t traced = 20;  ///< traced calls of each kind
  std::function<dispatch::traced_values(std::function<void()> const& call)> trace{};
  std::function<void(std::string const& what)> say = [](std::string const&) {};
};

/// Calibrates a task, times calls of each kind on all paths, and checks the predicted crossovers.
/// The kinds are resident arrays, and with a device path arrays in page-locked, in pageable, and in
/// mixed memory. Blocks for minutes; throws as `calibrate`.
template <dispatch::task T>
dispatch_study study_dispatch(std::vector<dispatch::path> const& paths,
                              study_options<T> const& options) {
  auto const& [sizes, budget, make, seed, progress] = options.calibrated;
  options.say("calibration, " + stats::number_text(budget) + " s");
  auto const begin = std::chrono::steady_clock::now();
  dispatch_study found{measure::calibrate<T>(paths, options.calibrated)};
  found.calibration_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  found.rules = options.rules;
  auto const& of = found.of;
  stats::random_source random{seed != 0 ? seed : stats::draw_seed()};

  auto const check = [&](call_kind& kind, std::optional<memory_type> memory) {
    dispatch::task_bench<T> bench{paths, make, random.next()};
    bench.lie_in(memory.value_or(memory_type::device));
    auto const last = paths.size() - 1;
    for (std::size_t p = 0; options.bisects && p < last; ++p) {
      if (!of.paths()[p].wrong.empty() || !of.paths()[last].wrong.empty()) { continue; }
      options.say("bisection against " + paths[p].describe() + ", arrays " + kind.name);
      auto& made = kind.checks.emplace_back(
          check_crossover(find_crossover(of, paths[p], paths[last], kind.at), sizes,
                          nearest_size(of, p, last, kind.at), [&](std::size_t size) {
                            return timed_ratios(bench, p, last, {size}, 15, 0, random).front();
                          }));
      refine(made, sizes, [&](std::vector<std::size_t> const& some) {
        return timed_ratios(bench, p, last, some, 5, 2, random);
      });
    }
    if (options.sweep_to == 0) { return; }
    options.say("sweep to " + std::to_string(options.sweep_to) + ", arrays " + kind.name);
    auto const* const before = found.kinds.empty() ? nullptr : &*found.kinds.front().sweep;
    kind.sweep = sweep_offload(bench, of, kind.at, options.sweep_to, before);
  };
  auto const time = [&](std::string const& name, std::optional<memory_type> memory,
                        char const* what, std::size_t count, bool traced = false) {
    options.say(std::to_string(count) + ' ' + what + " calls, arrays " + name);
    bool const other = name == "other shapes";
    return measure::time_calls<T>(of, {.sizes = sizes,
                                       .count = count,
                                       .make = other ? options.make_other : make,
                                       .seed = random.next(),
                                       .memory = memory,
                                       .mixed = name == "mixed" || (other && of.device()),
                                       .any_size = other,
                                       .trace = traced ? options.trace : nullptr});
  };
  std::vector<std::optional<memory_type>> memories;
  auto const add = [&](std::string const& name, std::optional<memory_type> memory, auto at) {
    call_kind kind{name, at};
    kind.timed = time(name, memory, "held-out", options.calls);
    if (options.training > 0) { kind.training = time(name, memory, "training", options.training); }
    if (kind.at) { check(kind, memory); }
    found.kinds.push_back(std::move(kind));
    memories.push_back(memory);
  };
  add("resident", std::nullopt, dispatch::facts_of_size);
  if (of.device()) {
    for (auto const memory : {memory_type::page_locked, memory_type::pageable}) {
      add(in_words(memory), memory,
          [of_call = options.facts_at, memory](std::size_t n) { return of_call(n, memory); });
    }
    add("mixed", std::nullopt, nullptr);
  }
  if (options.make_other) { add("other shapes", std::nullopt, nullptr); }
  bool const traces = options.trace && options.traced > 0 && dispatch::traced_path(of);
  for (std::size_t k = 0; traces && k < found.kinds.size(); ++k) {
    auto& kind = found.kinds[k];
    kind.traced = time(kind.name, memories[k], "traced", options.traced, true);
  }
  return found;
}

}  // namespace assay::examples
