// SPDX-License-Identifier: Apache-2.0
/// @file
/// The steps of two traces compared, and gates on them.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/nsys/select.hpp>
#include <assay/nsys/step_instances.hpp>
#include <assay/profile/step_gate.hpp>
#include <assay/profile/step_options.hpp>
#include <assay/profile/step_words.hpp>
#include <assay/report/format.hpp>
#include <assay/report/junit.hpp>
#include <assay/stats/rank_sum.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/step_difference.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::profile {

/// Steps of each side that are read: more take time, and narrow no interval that matters.
inline constexpr std::size_t most_steps = 200;

/// What is asked of the steps of two traces. The functions make filters of a trace: that of the
/// range of the steps, and that of a range by name.
struct step_choice {
  std::string range;
  std::array<std::string, 2> files;
  step_options steps;
  std::function<trace::row_filter(trace::model const&)> filter;
  std::function<trace::row_filter(std::string const&, trace::model const&)> filter_by;
};

/// The answer to all gates.
enum class gates_answer { pass, fail, unproven };

/// The steps of two traces, compared.
class compared_steps {
 public:
  compared_steps(step_choice const& asked, trace::model const& control, trace::model const& variant)
      : asked_{asked},
        names_{asked.range, name_of(asked, 0), name_of(asked, 1)},
        gates_{asked.steps.gates()},
        matched_(gates_.size()),
        known_(gates_.size()) {
    auto const first = read(control, names_.control, &step_gate::control);
    auto const second = read(variant, names_.variant, &step_gate::variant);
    found_ = trace::unpaired_difference(first, second);
    for (auto const& each : gates_) { judged_.push_back(judge(each, gates_.size(), found_.alpha)); }
  }
  compared_steps(compared_steps const&) = delete;  // judged gates refer to gates

  trace::step_difference const& found() const { return found_; }
  trace::step_labels const& names() const { return names_; }

  std::string headline() const { return step_headline(found_, names_); }
  /// The report in words.
  std::vector<std::string> lines() const {
    auto made = sentences(found_, names_);
    made.insert(made.begin() + 1, notes_.begin(), notes_.end());
    return made;
  }

  /// A line for each gate, and how sure they are.
  std::vector<std::string> gate_lines() const {
    std::vector<std::string> made;
    for (auto const& each : judged_) { made.push_back(text_of(each)); }
    if (judged_.size() > 1) {
      made.push_back(
          concat({"The intervals of the ", report::count(judged_.size()),
                  " gates hold together at ", report::percent(1 - found_.alpha, 0), "."}));
    }
    return made;
  }

  /// The gates as JUnit.
  std::string junit() const {
    std::vector<report::junit_line> cases;
    for (auto const& each : judged_) {
      auto const failure = each.outcome == gate_outcome::unproven ? "UNPROVEN"
                           : holds(each)                          ? each.of.text
                                                                  : "";
      cases.push_back({each.of.text, failure, text_of(each)});
    }
    return report::junit(concat({names_.variant, " against ", names_.control}), cases);
  }

  /// The gates that match nothing of either side, and what they could match.
  std::vector<std::pair<step_gate const*, std::vector<std::string>>> unmatched() const {
    std::vector<std::pair<step_gate const*, std::vector<std::string>>> made;
    for (std::size_t i = 0; i < gates_.size(); ++i) {
      if (!matched_[i].empty()) { continue; }
      made.emplace_back(&gates_[i], std::vector<std::string>{known_[i].begin(), known_[i].end()});
    }
    return made;
  }

  /// A gate that fails comes before one that has no answer.
  gates_answer answer() const {
    if (std::ranges::any_of(judged_, [&](auto const& each) { return holds(each); })) {
      return gates_answer::fail;
    }
    return std::ranges::count(judged_, gate_outcome::unproven, &judged_gate::outcome) > 0
               ? gates_answer::unproven
               : gates_answer::pass;
  }

 private:
  /// The name of a file, with its folder where both files have one name.
  static std::string name_of(step_choice const& asked, std::size_t which) {
    auto const name = [&](std::size_t of) {
      return std::filesystem::path{asked.files[of]}.filename().string();
    };
    return name(0) == name(1) ? asked.files[which] : name(which);
  }

  bool holds(judged_gate const& of) const {
    return of.outcome == gate_outcome::fails ||
           (of.outcome == gate_outcome::inconclusive &&
            std::ranges::count(asked_.steps.fail_if, step_options::inconclusive) > 0);
  }

  std::string text_of(judged_gate const& of) const {
    return gate_text(
        of, stats::fewest_rank_sum_values(found_.alpha / static_cast<double>(gates_.size())));
  }

  std::vector<trace::step_record> read(trace::model const& of, std::string const& path,
                                       std::vector<double> step_gate::*side) {
    auto const by = asked_.filter(of);
    auto const steps = trace::instances_without(of, by, asked_.steps.skip, most_steps);
    tell(steps, path);
    std::vector<trace::row_filter> ranges;  // of gates
    for (auto const& gate : gates_) {
      ranges.push_back(gate.kind == "range" ? asked_.filter_by(gate.names, of)
                                            : trace::row_filter{});
    }
    std::vector<trace::step_record> made;
    for (std::size_t step = 0; step < steps.rows.size(); ++step) {
      auto const& rows = steps.rows[step];
      made.push_back(trace::step_of(rows, of.ranges[steps.ranges[step]].when));
      for (std::size_t i = 0; i < gates_.size(); ++i) {
        auto& gate = gates_[i];
        (gate.*side)
            .push_back(gate.kind == "range" ? time_of_ranges(rows.of(), ranges[i], i)
                                            : time_of_work(gate, rows, known_[i], matched_[i]));
      }
    }
    return made;
  }

  double time_of_ranges(trace::model const& step, trace::row_filter const& by, std::size_t gate) {
    double ns = 0;
    for (auto const& each : step.ranges) { known_[gate].emplace(step.strings[each.name]); }
    for (auto const row : trace::outermost_ranges(step, by)) {
      auto const& each = step.ranges[row];
      matched_[gate].emplace(step.strings[each.name]);
      ns += static_cast<double>(each.when.length());
    }
    return ns;
  }

  /// Notes on the choice of steps; refuses a choice of none.
  void tell(trace::step_instances const& of, std::string const& path) {
    auto const number = [](std::size_t value) { return report::count(value); };
    if (of.rows.empty()) {
      throw std::invalid_argument(concat({"--range '", asked_.range, "': ", path, " has ",
                                          number(of.found), " whole or cut off, --skip leaves out ",
                                          number(of.skipped), ", and none is left"}));
    }
    std::string note;
    auto const add = [&](std::size_t count, std::string const& what) {
      if (count > 0) { note += (note.empty() ? "" : ", ") + number(count) + what; }
    };
    add(of.skipped, " left out as warm-ups");
    add(of.cut, " cut off by the end of the recording");
    auto const left = of.found - of.skipped - of.cut;
    if (of.rows.size() < left) {
      add(of.rows.size(), concat({" of ", number(left), " taken, spread evenly over the run"}));
    }
    if (of.threads > 1) { add(of.threads, " threads taken together"); }
    if (!note.empty()) {
      notes_.push_back(
          concat({"Of the ", number(of.found), " instances of ", path, ": ", note, "."}));
    }
  }

  step_choice asked_;
  trace::step_labels names_;
  std::vector<step_gate> gates_;
  std::vector<std::set<std::string>> matched_, known_;  ///< names, by gate
  std::vector<std::string> notes_;
  trace::step_difference found_;
  std::vector<judged_gate> judged_;
};

}  // namespace assay::profile
