// SPDX-License-Identifier: Apache-2.0

// assay-uses: cupti

// Does an explanation name the right cause first, and does the cause's interval hold the truth?
// Seven pairs of batches that differ by one known cause, and pairs that do not differ, 50
// explanations of each. The truth is the difference of untraced batches, since the cause is all by
// which they differ: the Hodges-Lehmann estimate over 48 pairs that run between the traced ones,
// for causes drift. They are run as the traced ones are: one variant is open at a time, and there
// are as many openings, for these differ too. The explanation does not see these batches. The work
// of each batch varies by 10 % at random, as the work of programs does. A later run continues the
// file that --json names. Predicts: the right cause is first in at least 90 % of each kind, the
// interval holds the truth in at least 90 %, and of equal batches nothing is named in at least 95
// %.

#include "support/known_causes.cuh"
#include "support/resumable_trials.hpp"

#include <assay/cupti/explain.hpp>
#include <assay/report/explanation.hpp>
#include <assay/stats/signed_rank.hpp>
#include <assay/trace/difference.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::benchmark {
namespace {

constexpr char const* section = "causes";
constexpr char const* equal = "equal";

/// Seconds of one batch after the other, each of random size; of the usual size without `vary`.
std::function<double()> timed(batch run, bool vary) {
  return [run = std::move(run), vary, random = std::mt19937_64{stats::draw_seed()}]() mutable {
    std::uniform_real_distribution<double> some{0.9, 1.1};
    amounts of;
    if (vary) { of = {some(random), some(random)}; }
    auto const begin = std::chrono::steady_clock::now();
    run(of);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
}

trace::variant_runs runs_of(known_cause const& cause, on::device place, bool caused,
                            char const* label) {
  trace::variant_runs made;
  made.label = label;
  made.open = [=] { return timed(cause.open(caused), true); };
  if (cause.by_counters) {
    made.device = place;
    made.open_item = [=] { return timed(cause.open_item(caused), false); };
  }
  return made;
}

/// How much longer the variant's batches take: untraced pairs. One variant is open at a time, as in
/// an explanation; either begins in turn.
class untraced_pairs {
 public:
  untraced_pairs(trace::variant_runs const& control, trace::variant_runs const& variant)
      : sides_{&control, &variant} {}
  /// Pairs of one opening of each.
  void run(int pairs) {
    std::array<std::vector<double>, 2> seconds;
    for (std::size_t turn = 0; turn < 2; ++turn) {
      auto const i = (openings_ + turn) % 2;
      auto const run = sides_[i]->open();
      run();
      for (int pair = 0; pair < pairs; ++pair) { seconds[i].push_back(run()); }
    }
    ++openings_;
    for (std::size_t pair = 0; pair < seconds[0].size(); ++pair) {
      found_.push_back((seconds[1][pair] - seconds[0][pair]) * 1e9);
    }
  }
  /// In ns.
  stats::interval found() const {
    constexpr double alpha = 0.05;
    auto const pairs = static_cast<int>(found_.size());
    return stats::signed_rank_interval(found_, stats::signed_rank_critical_value(pairs, alpha));
  }

 private:
  std::array<trace::variant_runs const*, 2> sides_;
  std::size_t openings_ = 0;
  std::vector<double> found_;
};

/// `between`: runs between the traced pairs.
trace::explanation explained(known_cause const& cause, trace::variant_runs const& control,
                             trace::variant_runs const& variant,
                             std::function<void()> between = {}) {
  trace::explain_options chosen;
  chosen.count = cause.by_counters.has_value() && variant.device.has_value();
  chosen.after_pair = std::move(between);
  constexpr int pairs = 12;  // as many as are traced
  untraced_pairs before{control, variant};
  for (int pair = 0; pair < pairs; ++pair) { before.run(1); }
  auto const took = before.found();
  trace::variant_evidence first, second;
  first.label = control.label;
  second.label = variant.label;
  return trace::explain_runs(
      control, variant, first, second,
      {took.estimate, took.low, took.high, std::to_string(pairs) + " untraced batches of each"}, {},
      chosen);
}

report::document document_of(stats::interval const& of) {
  return {{"ns", of.estimate}, {"low", finite(of.low)}, {"high", finite(of.high)}};
}

/// The parts that the report tells, in its order.
std::vector<trace::change const*> named(trace::explanation const& why) {
  std::vector<trace::change const*> found;
  for (auto const& each : why.changes.changes) {
    if (trace::is_named(each, why.changes)) { found.push_back(&each); }
  }
  return found;
}

/// What every trial keeps: the parts, so that each judgement can be repeated.
trial row_of(trace::explanation const& why) {
  if (!why.untraced.empty()) { throw std::runtime_error("not traced: " + why.untraced); }
  trial row;
  row["untraced"] = document_of({why.time.low_ns, why.time.ns, why.time.high_ns});
  row["traced"] = document_of(why.changes.traced);
  row["tracing"] = document_of(why.changes.tracing);
  row["tracing_taken"] = why.changes.tracing_taken();
  row["confidence"] = why.changes.confidence;
  row["parts"] = report::document::array();
  for (auto const* each : named(why)) {
    auto part = document_of(each->delta);
    part["kind"] = to_string(each->what);
    part["name"] = each->name;
    row["parts"].push_back(std::move(part));
  }
  return row;
}

/// Explains why batches with the cause differ from batches without it. `tell`: keeps the text, as a
/// wrong one is kept always.
trial caused_trial(known_cause const& cause, on::device place, bool tell) {
  auto const control = runs_of(cause, place, false, "control");
  auto const variant = runs_of(cause, place, true, cause.name.c_str());
  untraced_pairs beside{control, variant};
  auto const why = explained(cause, control, variant, [&] { beside.run(4); });
  auto const truth = beside.found();
  auto row = row_of(why);
  auto const parts = named(why);
  bool first = !parts.empty() && parts[0]->what == cause.what;
  // Counters may be forbidden: the trace alone then tells no more than the kernel.
  auto const counted = !why.kernels.empty() && !why.kernels.front().causes.empty();
  if (cause.by_counters && counted) {
    first = first && why.kernels.front().causes.front().what == *cause.by_counters;
  }
  auto const told = trace::sum_of(cause.what, why.changes);
  row["counted"] = counted;
  row["first"] = first;
  row["told"] = document_of(told);
  row["truth"] = document_of(truth);
  row["holds"] = told.low <= truth.estimate && truth.estimate <= told.high;
  row["relative_error"] = finite(told.estimate / truth.estimate - 1);
  row["relative_half_width"] = finite((told.high - told.low) / 2 / truth.estimate);
  if (tell || !first || !row["holds"]) { row["text"] = report::sentences(why); }
  return row;
}

trial equal_trial(known_cause const& cause, on::device place) {
  auto const why = explained(cause, runs_of(cause, place, false, "control"),
                             runs_of(cause, place, false, "the same again"));
  auto row = row_of(why);
  row["nothing_named"] = named(why).empty();
  if (!row["nothing_named"]) { row["text"] = report::sentences(why); }
  return row;
}

/// The causes, once the device is known.
class studies {
 public:
  studies() = default;
  void open(on::device place) {
    place_ = place;
    causes_ = known_causes(place);
  }

  trial_kind kind_of(std::string name) {
    return {name, {"pair"}, [this, name](std::string const&) {
              return caused_trial(find(name), place_, told_.insert(name).second);
            }};
  }
  trial_kind equal_kind(std::vector<std::string> names) {
    return {equal, std::move(names),
            [this](std::string const& form) { return equal_trial(find(form), place_); }};
  }

 private:
  known_cause const& find(std::string const& name) const {
    auto const found = std::ranges::find(causes_, name, &known_cause::name);
    if (found == causes_.end()) { throw std::logic_error("no cause is called " + name); }
    return *found;
  }

  on::device place_;
  std::vector<known_cause> causes_;
  std::set<std::string> told_;  // causes with a text in this run
};

int count_true(std::vector<trial> const& rows, char const* key) {
  return static_cast<int>(
      std::ranges::count_if(rows, [&](trial const& row) { return row.at(key).get<bool>(); }));
}

/// Counts the trials of each kind, and prints a table.
void count(resumable_trials const& trials, std::vector<trial_kind> const& kinds,
           report::document& figures) {
  auto& into = figures[section]["kinds"];
  into = report::document::object();
  std::printf("%-18s %6s %10s %12s %12s %10s %10s %8s\n", "cause", "trials", "first", "holds truth",
              "truth, us", "error", "+-", "counted");
  for (auto const& each : kinds) {
    auto const rows = trials.rows(section, each.name);
    if (rows.empty()) { continue; }
    auto const all = static_cast<int>(rows.size());
    report::document found{{"trials", all},
                           {"seconds", stats::summarise(column(rows, "call_seconds")).median}};
    if (each.name == equal) {
      auto const nothing = count_true(rows, "nothing_named");
      found["nothing_named"] = nothing;
      found["nothing_named_share"] = static_cast<double>(nothing) / all;
      std::printf("%-18s %6d: nothing is named in %d\n", equal, all, nothing);
    } else {
      auto const median = [&](char const* key) {
        return stats::summarise(column(rows, key)).median;
      };
      auto const first = count_true(rows, "first");
      auto const holds = count_true(rows, "holds");
      auto const counted = count_true(rows, "counted");
      std::vector<double> truths;
      for (auto const& row : rows) { truths.push_back(row.at("truth").at("ns").get<double>()); }
      auto const truth = stats::summarise(truths).median;
      found["first"] = first;
      found["first_share"] = static_cast<double>(first) / all;
      found["holds"] = holds;
      found["holds_share"] = static_cast<double>(holds) / all;
      found["counted"] = counted;
      found["truth_ns"] = truth;
      found["relative_error"] = finite(median("relative_error"));
      found["relative_half_width"] = finite(median("relative_half_width"));
      std::printf("%-18s %6d %10d %12d %12.1f %9.2f%% %9.2f%% %8d\n", each.name.c_str(), all, first,
                  holds, truth * 1e-3, 100 * median("relative_error"),
                  100 * median("relative_half_width"), counted);
    }
    into[each.name] = std::move(found);
  }
}

}  // namespace
}  // namespace assay::benchmark

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::benchmark;
  std::vector<std::string> const names{"allocation",        "allocation_beside", "mutex",
                                       "uncoalesced_loads", "less_occupancy",    "extra_copy",
                                       "smaller_batch"};
  studies all;
  std::vector<trial_kind> kinds;
  for (auto const& name : names) { kinds.push_back(all.kind_of(name)); }
  kinds.push_back(all.equal_kind(names));
  if (lists_kinds(argc, argv, kinds)) { return 0; }
  trial_plan plan{.count = 50};
  return benchmark::run(
      argc, argv, "explanation_truth",
      [&](benchmark::options const& chosen, report::document& figures) {
        if (chosen.quick) { plan.count = 2; }
        all.open(chosen.place);
        resumable_trials trials{chosen, plan, figures};
        trials.run(section, kinds);
        count(trials, kinds, figures);
      },
      plan.options());
}
