// SPDX-License-Identifier: Apache-2.0
/// @file
/// `regret`: what a chooser's decisions cost against the best possible ones; `dispatch_study`: all
/// that was measured about a task.
#pragma once

#include <assay/dispatch/choose.hpp>
#include <assay/dispatch/crossover_check.hpp>
#include <assay/dispatch/offload_sweep.hpp>
#include <assay/dispatch/timed_calls.hpp>
#include <assay/dispatch/tree.hpp>
#include <assay/measure/calibrate.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace assay::measure {

using dispatch::stream_of_calls;
using dispatch::time_calls;
using dispatch::timed_calls;

/// The regret of a chooser, as shares of the best possible time.
struct regret {
  std::string chooser;
  double total = 0;  ///< the sum of all chosen times over the sum of all best times, less 1
  double p95 = 0;    ///< of single calls
  double max = 0;
  /// The total that a perfect chooser would show: the best path of one half against the best of
  /// the other. A total below it says nothing.
  double noise_floor = 0;
  /// The sums behind the shares: of the chosen paths, of the best paths, and of the least times.
  double chosen_seconds = 0, best_seconds = 0, least_seconds = 0;
  std::vector<double> single{};  ///< the regret of each call, in rising order

  /// The shares, from the sums and the single calls.
  void conclude() {
    std::sort(single.begin(), single.end());
    total = chosen_seconds / best_seconds - 1;
    p95 = stats::quantile(single, 0.95);
    max = stats::quantile(single, 1);
    noise_floor = best_seconds / least_seconds - 1;
  }
  /// Adds the calls of another judgement, such as those of another task.
  regret& operator+=(regret const& other) {
    chosen_seconds += other.chosen_seconds;
    best_seconds += other.best_seconds;
    least_seconds += other.least_seconds;
    single.insert(single.end(), other.single.begin(), other.single.end());
    conclude();
    return *this;
  }
  /// `choose::by_model: regret 0.4 % (noise 0.3 %), p95 1.2 %, max 3.0 %`.
  std::string describe() const {
    std::array<char, 160> text{};
    (void)std::snprintf(text.data(), text.size(),
                        ": regret %.1f %% (noise %.1f %%), p95 %.1f %%, max %.1f %%", 100 * total,
                        100 * noise_floor, 100 * p95, 100 * max);
    return chooser + text.data();
  }
};

/// Judges a chooser by timed calls. The best path is chosen at one moment and timed at the other,
/// so that noise cannot flatter it; both moments have both roles.
template <dispatch::chooser C>
regret judge(timed_calls const& timed, dispatch::costs const& of, C const& policy) {
  auto const pick = policy.bound(of);
  regret found{.chooser = describe(policy)};
  for (auto const& call : timed.calls) {
    auto const index = pick(call.known);
    double mine = 0, its = 0;
    for (std::size_t half = 0; half < 2; ++half) {
      auto const& chooses = call.halves[half];
      auto const& times = call.halves[1 - half];
      auto const fastest = std::min_element(chooses.begin(), chooses.end()) - chooses.begin();
      mine += times[index];
      its += times[static_cast<std::size_t>(fastest)];
      found.least_seconds += *std::min_element(times.begin(), times.end());
    }
    found.chosen_seconds += mine;
    found.best_seconds += its;
    found.single.push_back(mine / its - 1);
  }
  found.conclude();
  return found;
}

/// The best threshold in hindsight: it has the least time over the very calls that it is judged by.
/// So no threshold that is set beforehand does better.
inline dispatch::choose::threshold best_threshold(timed_calls const& timed,
                                                  dispatch::costs const& of) {
  auto calls = timed.calls;
  std::sort(calls.begin(), calls.end(),
            [](auto const& a, auto const& b) { return a.known.amount.size < b.known.amount.size; });
  std::vector<std::vector<double>> before(of.paths().size());  // the time of all smaller calls
  for (std::size_t p = 0; p < before.size(); ++p) {
    before[p].push_back(0);
    for (auto const& each : calls) {
      before[p].push_back(before[p].back() + each.halves[0][p] + each.halves[1][p]);
    }
  }
  dispatch::choose::threshold best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t low = 0; low < before.size(); ++low) {
    for (std::size_t high = 0; high < before.size(); ++high) {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        auto const size = calls[i].known.amount.size;
        bool const splits_equals = i > 0 && calls[i - 1].known.amount.size == size;
        double const time = before[low][i] + before[high].back() - before[high][i];
        if (splits_equals || !(time < least)) { continue; }
        least = time;
        best = {size, of.paths()[low].where, of.paths()[high].where};
      }
    }
  }
  return best;
}

/// Calls of one kind, such as those whose arrays are in pinned memory.
struct call_kind {
  std::string name;
  /// The facts of a call by its size; none where the size does not decide them.
  std::function<dispatch::facts(std::size_t)> at = dispatch::facts_of_size;
  timed_calls timed{};     ///< judges choosers
  timed_calls training{};  ///< for choosers that learn from calls; may be empty
  timed_calls traced{};    ///< traced and timed last, since a tracer may disturb later calls
  std::vector<dispatch::crossover_check> checks{};  ///< the last path against each other one
  std::optional<dispatch::offload_sweep> sweep{};
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
  timed_calls all_calls() const { return joined(&call_kind::timed); }
  /// The tree that the training calls of all kinds give; none where there are no such calls.
  std::optional<dispatch::choose::tree> tree() const {
    std::vector<dispatch::tree_row> rows;
    for (auto const& each : joined(&call_kind::training).calls) {
      auto& row = rows.emplace_back(dispatch::tree_row{each.known, each.halves[0]});
      for (std::size_t p = 0; p < row.seconds.size(); ++p) { row.seconds[p] += each.halves[1][p]; }
    }
    if (rows.empty()) { return {}; }
    std::vector<dispatch::path> paths;
    for (auto const& each : of.paths()) { paths.push_back(each.where); }
    return dispatch::train_tree(paths, rows);
  }

 private:
  timed_calls joined(timed_calls call_kind::*which) const {
    timed_calls all;
    for (auto const& each : kinds) {
      auto const& some = (each.*which).calls;
      all.calls.insert(all.calls.end(), some.begin(), some.end());
    }
    return all;
  }
};

/// The regret of one chooser: of the calls of each kind, of all calls, and of all calls that take
/// 2 us or more on their fastest path. A choice is a small part of those.
struct regret_row {
  std::string name;       ///< the same for each task: `tuned threshold`
  bool is_rival = false;  ///< it is neither the model nor the tree
  std::vector<regret> kinds{};
  regret all{};
  std::optional<regret> longer{};  ///< none where there are no such calls
};

/// The regrets of the model and of its rivals. These are the tree if there are training calls, the
/// history, the power law, the best threshold in hindsight, the rules of the study, and each path
/// for all calls.
inline std::vector<regret_row> judge_choosers(dispatch_study const& study) {
  namespace choose = dispatch::choose;
  auto const all = study.all_calls();
  auto longer = all;
  std::erase_if(longer.calls, [](timed_calls::call const& each) {
    auto const& [first, second] = each.halves;
    return std::min(*std::min_element(first.begin(), first.end()),
                    *std::min_element(second.begin(), second.end())) < 2e-6;
  });
  std::vector<regret_row> rows;
  if (all.calls.empty()) { return rows; }
  auto const add = [&](auto const& policy, std::string name, bool is_rival = true) {
    regret_row row{std::move(name), is_rival};
    for (auto const& each : study.kinds) {
      row.kinds.push_back(judge(each.timed, study.of, policy));
    }
    row.all = judge(all, study.of, policy);
    if (!longer.calls.empty()) { row.longer = judge(longer, study.of, policy); }
    rows.push_back(std::move(row));
  };
  add(choose::by_model{}, "model", false);
  if (auto const tree = study.tree()) { add(*tree, "tree", false); }
  add(choose::history{}, "history");
  add(choose::power_law{}, "power law");
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
        if (!sum.longer) {
          sum.longer = other.longer;
        } else if (other.longer) {
          *sum.longer += *other.longer;
        }
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
  calibration<T> calibrated;
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
/// The kinds are arrays at home, and with a device path arrays in page-locked, in pageable, and in
/// mixed memory. Blocks for minutes; throws as `calibrate`.
template <dispatch::task T>
dispatch_study study_dispatch(std::vector<dispatch::path> const& paths,
                              study_options<T> const& options) {
  auto const& [sizes, budget, make, seed, progress] = options.calibrated;
  options.say("calibration, " + stats::number_text(budget) + " s");
  auto const begin = std::chrono::steady_clock::now();
  dispatch_study found{calibrate<T>(paths, options.calibrated)};
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
      kind.checks.push_back(check_crossover(
          find_crossover(of, paths[p], paths[last], kind.at), sizes,
          dispatch::nearest_size(of, p, last, kind.at),
          [&](std::size_t size) { return dispatch::timed_ratio(bench, p, last, size, random); }));
    }
    if (options.sweep_to == 0) { return; }
    options.say("sweep to " + std::to_string(options.sweep_to) + ", arrays " + kind.name);
    auto const* const before = found.kinds.empty() ? nullptr : &*found.kinds.front().sweep;
    kind.sweep = dispatch::sweep_offload(bench, of, kind.at, options.sweep_to, before);
  };
  auto const time = [&](std::string const& name, std::optional<memory_type> memory,
                        char const* what, std::size_t count, bool traced = false) {
    options.say(std::to_string(count) + ' ' + what + " calls, arrays " + name);
    bool const other = name == "other shapes";
    return time_calls<T>(of, {.sizes = sizes,
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
  bool const traces = options.trace && options.traced > 0 && traced_path(of);
  for (std::size_t k = 0; traces && k < found.kinds.size(); ++k) {
    auto& kind = found.kinds[k];
    kind.traced = time(kind.name, memories[k], "traced", options.traced, true);
  }
  return found;
}

}  // namespace assay::measure
