// SPDX-License-Identifier: Apache-2.0
/// @file
/// `regret`: what a chooser's decisions cost against the best possible ones; `dispatch_study`: all
/// that was measured about a task.
#pragma once

#include <assay/dispatch/choose.hpp>
#include <assay/dispatch/tree.hpp>
#include <assay/measure/calibrate.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace assay::measure {

/// Times of the same calls on every path: the medians of both halves of interleaved repetitions.
struct timed_calls {
  struct call {
    dispatch::facts known;
    std::array<std::vector<double>, 2> halves;  ///< seconds by path; infinite for impossible ones
  };
  std::vector<call> calls;
};

/// The calls of `time_calls`: `count` sizes, all octaves as likely.
template <dispatch::task T>
struct stream_of_calls {
  dispatch::size_range sizes;
  std::size_t count = 200;
  std::function<T(setup& arrays, std::size_t size)> make;
  std::uint64_t seed = 0;  ///< 0 draws one
  /// The memory of all arrays. Host paths are impossible for arrays in device memory. Without a
  /// type, each path has the arrays in memory of its own, and calls need no copies.
  std::optional<memory_type> memory = memory_type::pageable;
};

/// Times a stream of calls on all paths of the costs, each from its begin to its end with the
/// copies that the memory of the arrays needs. Blocks; throws as `calibrate`.
template <dispatch::task T>
timed_calls time_calls(dispatch::costs const& of, stream_of_calls<T> const& options) {
  constexpr int rounds = 18;
  options.sizes.require();
  auto const seed = options.seed != 0 ? options.seed : stats::draw_seed();
  stats::random_source random{seed};
  std::vector<dispatch::path> paths;
  std::vector<std::size_t> right;
  for (auto const& each : of.paths()) {
    bool const reaches = each.where.host() == nullptr || options.memory != memory_type::device;
    if (each.wrong.empty() && reaches) { right.push_back(paths.size()); }
    paths.push_back(each.where);
  }
  detail::task_bench<T> bench{paths, options.make, seed};
  bench.lie_in(options.memory.value_or(memory_type::device));
  timed_calls all;
  for (std::size_t i = 0; i < options.count; ++i) {
    bench.open(options.sizes.draw(random));
    auto& call = all.calls.emplace_back();
    call.known = bench.facts();
    if (!options.memory) { call.known.count = 0; }
    auto const times = dispatch::detail::interleaved(bench, right, rounds, 0.2, random);
    for (std::size_t half = 0; half < 2; ++half) {
      call.halves[half].assign(paths.size(), std::numeric_limits<double>::infinity());
      for (std::size_t k = 0; k < right.size(); ++k) {
        std::vector<double> mine;
        for (auto j = half; j < times[k].size(); j += 2) { mine.push_back(times[k][j]); }
        call.halves[half][right[k]] = stats::summarise(mine).median;
      }
    }
  }
  return all;
}

/// The regret of a chooser, as shares of the best possible time.
struct regret {
  std::string chooser;
  double total = 0;  ///< the sum of all chosen times over the sum of all best times, less 1
  double p95 = 0;    ///< of single calls
  double max = 0;
  /// The total that a perfect chooser would show: the best path of one half against the best of
  /// the other. A total below it says nothing.
  double noise_floor = 0;

  /// `choose::by_model: regret 0.4 % (noise 0.3 %), p95 1.2 %, max 3.0 %`.
  std::string describe() const {
    std::array<char, 160> text{};
    (void)std::snprintf(text.data(), text.size(),
                        ": regret %.1f %% (noise %.1f %%), p95 %.1f %%, max %.1f %%", 100 * total,
                        100 * noise_floor, 100 * p95, 100 * max);
    return chooser + text.data();
  }
};

/// Judges a chooser by timed calls. The best path is chosen on one half of the repetitions and
/// timed on the other, so that noise cannot flatter it; both halves have both roles.
template <dispatch::chooser C>
regret judge(timed_calls const& timed, dispatch::costs const& of, C const& policy) {
  auto const pick = policy.bound(of);
  regret found{.chooser = describe(policy)};
  double chosen = 0, best = 0, least = 0;
  std::vector<double> single;
  for (auto const& call : timed.calls) {
    auto const index = pick(call.known);
    double mine = 0, its = 0;
    for (std::size_t half = 0; half < 2; ++half) {
      auto const& chooses = call.halves[half];
      auto const& times = call.halves[1 - half];
      auto const fastest = std::min_element(chooses.begin(), chooses.end()) - chooses.begin();
      mine += times[index];
      its += times[static_cast<std::size_t>(fastest)];
      least += *std::min_element(times.begin(), times.end());
    }
    chosen += mine;
    best += its;
    single.push_back(mine / its - 1);
  }
  auto const spread = [&](double share) {
    std::sort(single.begin(), single.end());
    return stats::quantile(single, share);
  };
  found.total = chosen / best - 1;
  found.p95 = spread(0.95);
  found.max = spread(1);
  found.noise_floor = best / least - 1;
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
  std::function<dispatch::facts(std::size_t)> at = dispatch::facts_of_size;
  timed_calls timed{};     ///< judges choosers
  timed_calls training{};  ///< for choosers that learn from calls; may be empty
};

/// All that is known of one task. Reports and charts show it.
struct dispatch_study {
  dispatch::costs of;
  std::vector<call_kind> kinds{};

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
  std::vector<regret> kinds;
  regret all;
  std::optional<regret> longer{};  ///< none where there are no such calls
};

/// The regrets of the model and of its rivals: the tree if there are training calls, the history,
/// the power law, the best threshold in hindsight, and each path for all calls.
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
  auto const add = [&](auto const& policy) {
    regret_row row;
    for (auto const& each : study.kinds) {
      row.kinds.push_back(judge(each.timed, study.of, policy));
    }
    row.all = judge(all, study.of, policy);
    if (!longer.calls.empty()) { row.longer = judge(longer, study.of, policy); }
    rows.push_back(std::move(row));
  };
  add(choose::by_model{});
  if (auto const tree = study.tree()) { add(*tree); }
  add(choose::history{});
  add(choose::power_law{});
  add(best_threshold(all, study.of));
  for (auto const& each : study.of.paths()) {
    if (each.wrong.empty()) { add(choose::always{each.where}); }
  }
  return rows;
}

}  // namespace assay::measure
