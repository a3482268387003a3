// SPDX-License-Identifier: Apache-2.0
/// @file
/// Many trials of several kinds, in turn, that a later run of the same commit continues.
#pragma once

#include "result.hpp"
#include "trials.hpp"

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::benchmark {

/// A kind of trial. Its trials take its forms in turn.
struct trial_kind {
  /// `run(form)` returns a comparison, or a row of the result.
  template <class Run>
  trial_kind(std::string name, std::vector<std::string> forms, Run run)
      : name(std::move(name)),
        forms(std::move(forms)),
        trial_in([run = std::move(run)](std::string const& form) { return trial_of(run(form)); }) {}

  std::string name;
  std::vector<std::string> forms;
  std::function<trial(std::string const& form)> trial_in;
};

/// The number of trials, their kinds, and the time for them.
struct trial_plan {
  int count = 100;                   ///< of each kind
  double minutes = 1e9;              ///< no trial begins later than this after the start
  std::vector<std::string> kinds{};  ///< empty: all
  bool any_commit = false;           ///< also continues the result of another commit
  std::filesystem::path add = {};    ///< a result whose trials are taken too

  /// `--count N`, `--minutes M`, `--kinds A,B`, `--any-commit` and `--add PATH`.
  std::vector<option> options() {
    return {{"--count", "N", "comparisons of each kind",
             [this](std::string const& text) { count = positive(text); }},
            {"--minutes", "M", "the last comparison begins before",
             [this](std::string const& text) { minutes = std::stod(text); }},
            {"--kinds", "A,B", "these kinds alone",
             [this](std::string const& text) { kinds = words(text); }},
            {"--any-commit", "", "continues a result of another commit; each run names its commit",
             [this](std::string const&) { any_commit = true; }},
            {"--add", "PATH", "takes the trials of this result too, as of another GPU",
             [this](std::string const& text) { add = text; }},
            {"--list", "", "names the kinds and does nothing else", [](std::string const&) {}}};
  }

  static int positive(std::string const& text) {
    int const number = std::stoi(text);
    if (number < 1) {
      throw std::invalid_argument("a count of " + text + ": at least 1 is needed");
    }
    return number;
  }

 private:
  static std::vector<std::string> words(std::string const& text) {
    std::vector<std::string> found;
    for (std::size_t begin = 0; begin <= text.size();) {
      auto const end = std::min(text.find(',', begin), text.size());
      found.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return found;
  }
};

/// Prints the names of the kinds if the command line asks for them; true then.
inline bool lists_kinds(int argc, char const* const* argv, std::vector<trial_kind> const& kinds) {
  bool const asked = std::find(argv + 1, argv + argc, std::string_view{"--list"}) != argv + argc;
  for (auto const& each : kinds) {
    if (asked) { std::cout << each.name << '\n'; }
  }
  return asked;
}

/// The trials of one result file. A section holds the trials of one question.
class resumable_trials {
 public:
  /// Reads what an earlier run of the same commit, or of any where the plan says so, left in
  /// `chosen.json` into `figures`.
  resumable_trials(options const& chosen, trial_plan plan, report::document& figures)
      : chosen_(chosen), plan_(std::move(plan)), figures_(figures) {
    if (!chosen.json.empty() && std::filesystem::exists(chosen.json)) { resume(); }
    if (!plan_.add.empty()) { add(); }
    figures_["row_schema"] = row_schema;
    auto where = machine::host_environment(commit(), {});
    machine::describe_device(chosen.place, where);
    figures_["runs"].push_back({{"started_at", where.started_at},
                                {"process", ::getpid()},
                                {"device", where.device},
                                {"commit", commit()}});
  }

  /// Runs the missing trials of a section, one of each kind in turn, until all are there or the
  /// time is over. Saves after every 10 trials, and prints the number of missing ones.
  /// `call_seconds` of a row is the time of the whole call, with watching the device. `count` is of
  /// each kind, 0 for that of the plan.
  void run(std::string const& section, std::vector<trial_kind> const& all, int count = 0) {
    int const wanted = count > 0 ? count : plan_.count;
    auto const kinds = chosen_kinds(all);
    std::map<std::string, int> done;
    for (auto const& row : rows(section)) { ++done[row.at("kind")]; }
    int since_saved = 0;
    for (int number = 0; number < wanted; ++number) {
      for (auto const& kind : kinds) {
        if (done[kind.name] > number || is_over()) { continue; }
        auto const& form = kind.forms[static_cast<std::size_t>(number) % kind.forms.size()];
        trial row{{"kind", kind.name}, {"form", form}};
        auto const begin = std::chrono::steady_clock::now();
        row.update(kind.trial_in(form));
        row["call_seconds"] = seconds_since(begin);
        row["run"] = figures_["runs"].size();
        figures_[section]["rows"].push_back(std::move(row));
        ++done[kind.name];
        if (++since_saved % 10 == 0) {
          std::fprintf(stderr, "%s: %d of each, %d in this run\n", section.c_str(), number,
                       since_saved);
          chosen_.save(figures_);
        }
      }
    }
    for (auto const& kind : kinds) {
      int const missing = wanted - done[kind.name];
      if (missing > 0) { std::printf("missing: %d of %s\n", missing, kind.name.c_str()); }
    }
  }

  /// The trials of a section, or of one kind in it.
  std::vector<trial> rows(std::string const& section, std::string const& kind = {}) const {
    std::vector<trial> found;
    if (!figures_.contains(section) || !figures_[section].contains("rows")) { return found; }
    for (auto const& row : figures_[section]["rows"]) {
      if (kind.empty() || row.at("kind") == kind) { found.push_back(row); }
    }
    return found;
  }

  /// Counts a section's trials of equal work, by kind and in all, prints and saves the counts.
  void count_false_alarms(std::string const& section, std::vector<trial_kind> const& kinds) {
    auto& into = figures_[section];
    into["kinds"] = report::document::object();
    for (auto const& each : kinds) {
      auto const found = rows(section, each.name);
      if (found.empty()) { continue; }
      into["kinds"][each.name] = counts_of(found);
      into["kinds"][each.name]["median_call_seconds"] =
          stats::summarise(column(found, "call_seconds")).median;
      print_counts(each.name, into["kinds"][each.name]);
    }
    into["total"] = counts_of(rows(section));
    print_counts(section + ", total", into["total"]);
    chosen_.save(figures_);
  }

 private:
  static constexpr int row_schema = 1;

  static double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  bool is_over() const { return seconds_since(begin_) > 60 * plan_.minutes; }

  void resume() {
    auto const before = report::document::parse(std::ifstream{chosen_.json});
    auto const& found = before.at("figures");
    bool const same_commit = before.at("environment").at("commit") == commit();
    if (found.value("row_schema", 0) == row_schema && (same_commit || plan_.any_commit)) {
      figures_ = found;
    } else {
      std::cerr << "note: " << chosen_.json
                << " is of another commit or schema: all comparisons are run anew\n";
    }
  }

  /// Appends the runs and the trials of another result of the same commit, or of any where the plan
  /// says so.
  void add() {
    std::ifstream file{plan_.add};
    if (!file) { throw std::invalid_argument("--add: cannot read " + plan_.add.string()); }
    auto const other = report::document::parse(file);
    auto const& found = other.at("figures");
    bool const same_commit = other.at("environment").at("commit") == commit();
    if (found.value("row_schema", 0) != row_schema || !(same_commit || plan_.any_commit)) {
      throw std::invalid_argument("--add: " + plan_.add.string() +
                                  " is of another commit or schema");
    }
    auto const runs = figures_["runs"].size();
    for (auto const& each : found.at("runs")) {
      if (std::ranges::find(figures_["runs"], each) != figures_["runs"].end()) {
        throw std::invalid_argument("--add: " + plan_.add.string() + " was taken before");
      }
      figures_["runs"].push_back(each);
    }
    for (auto const& [name, section] : found.items()) {
      if (!section.is_object() || !section.contains("rows")) { continue; }
      for (auto row : section.at("rows")) {
        row["run"] = row.at("run").get<std::size_t>() + runs;
        figures_[name]["rows"].push_back(std::move(row));
      }
    }
  }

  std::vector<trial_kind> chosen_kinds(std::vector<trial_kind> const& all) const {
    if (plan_.kinds.empty()) { return all; }
    std::vector<trial_kind> found;
    for (auto const& name : plan_.kinds) {
      auto const each = std::ranges::find(all, name, &trial_kind::name);
      if (each == all.end()) {
        throw std::invalid_argument("--kinds " + name + ": there is no such kind; see --list");
      }
      found.push_back(*each);
    }
    return found;
  }

  options const& chosen_;
  trial_plan plan_;
  report::document& figures_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace assay::benchmark
