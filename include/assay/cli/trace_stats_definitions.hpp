// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to trace_stats.hpp: the definition of its program.
#pragma once

#include <assay/chrome/chrome.hpp>
#include <assay/cli/guarded.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/cli/trace_stats.hpp>
#include <assay/cli/trace_stats_options.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/nsys/answers.hpp>
#include <assay/nsys/overlap_reasons.hpp>
#include <assay/nsys/range_tables.hpp>
#include <assay/nsys/rank_tables.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/nsys/select.hpp>
#include <assay/nsys/sqlite_read.hpp>
#include <assay/nsys/what_if.hpp>
#include <assay/page/ranks.hpp>
#include <assay/page/steps.hpp>
#include <assay/profile/step_comparison.hpp>
#include <assay/profile/step_table.hpp>
#include <assay/profile/trace_output.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/overlap_words.hpp>
#include <assay/report/trace_words.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/rank_trace.hpp>
#include <assay/trace/ranks.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

/// Answers the questions, file by file.
class trace_stats_printer {
 public:
  trace_stats_printer(trace_stats_options const& asked, std::ostream& out, std::ostream& err)
      : asked_(asked),
        out_(out),
        err_(err),
        output_(
            {asked.format, asked.output, asked.ranks ? std::vector{asked.files.at(0)} : asked.files,
             asked.files_of_run(), asked.diff && asked.reports.empty()},
            out, err) {}

  /// Returns the exit code.
  exit_code print() {
    for (auto const& file : {asked_.html, asked_.steps.junit, asked_.perfetto}) {
      require_output(file);
    }
    if (asked_.diff) {
      auto const code = asked_.range.empty() ? differences() : step_differences();
      output_.finish();
      return code;
    }
    if (asked_.ranks) { return ranks(); }
    std::size_t with_collectives = 0;
    for (auto const& path : asked_.files) {
      auto const of = read(path);
      with_collectives += trace::count_ranks(of);
      if (asked_.files.size() > 1 && is_text() && asked_.output.empty()) {
        out_ << "## " << path << "\n\n";
      }
      auto const rows = trace::select(of, asked_.filter(of));
      if (!asked_.perfetto.empty()) { trace::write_chrome(rows.of(), asked_.perfetto); }
      if (asked_.answers) { answers(path, rows); }
      tables(path, of, rows);
      if (asked_.explain_overlap) {
        print_sentences(path, "explain_overlap",
                        report::overlap_sentences(trace::explain_overlap(rows), rows.of()));
      }
      print_losses(path, of, rows);
    }
    if (is_text() && with_collectives > 1) {
      out_ << "hint: " << with_collectives << " ranks ran collectives; --ranks matches them.\n";
    }
    output_.finish();
    return ok;
  }

 private:
  /// Compares all ranks of all files. Each trace goes before the next one is read.
  exit_code ranks() {
    trace::rank_collector all;
    for (auto const& path : asked_.files) {
      auto const of = read(path);
      all.add(path, trace::select(of, asked_.filter(of)));
    }
    all.finish();
    auto const found = trace::compare_ranks(all);
    auto const notes = trace::rank_notes(found, all);
    if (!asked_.html.empty()) {
      write_atomically(asked_.html, report::ranks_page(found, all, notes));
    }
    for (auto const& each : trace::rank_tables(found, all, notes)) {
      bool const sentences = each.name() == "rank_notes" && is_text() && asked_.output.empty();
      if (!sentences) { print_table(asked_.files[0], each, is_json()); }
    }
    if (is_text()) { print_sentences("", "", notes); }
    output_.finish();
    return ok;
  }

  static constexpr std::size_t most_instances = 200;

  bool is_text() const { return asked_.format == "text"; }
  bool is_json() const { return asked_.format == "json"; }

  trace::model read(std::string const& path) const {
    auto made = trace::read_nsys(path);
    asked_.require_any(path, made);
    return made;
  }

  /// Reports that were not asked for by name are left out where they would be empty.
  void tables(std::string const& path, trace::model const& of, trace::view const& rows) {
    auto const others = !asked_.phases.empty() || asked_.explain_overlap ||
                        !asked_.perfetto.empty() || asked_.answers;
    if (asked_.reports.empty() && !others) {
      if (!asked_.range.empty()) { print_table(path, make("range_kernels", of, rows), false); }
      for (auto const name : trace::default_reports()) {
        print_table(path, make(name, of, rows), false);
      }
    }
    for (auto const& name : asked_.reports) { print_table(path, make(name, of, rows), true); }
    if (asked_.phases.empty()) { return; }
    auto const phase_of = [&](std::string const& name) {
      auto by = asked_.filter_by(name, of);
      by.any_thread = true;
      return trace::phase{name, trace::select(of, by)};
    };
    print_table(path,
                trace::compare_phases(phase_of(asked_.phases[0]), phase_of(asked_.phases[1]),
                                      asked_.classifier()),
                true);
  }

  void answers(std::string const& path, trace::view const& rows) {
    auto const found = trace::answers_of(rows, asked_.answer, asked_.classifier());
    print_table(path, found.answers, true);
    print_table(path, found.kernels, false);
    if (asked_.format != "csv") { print_sentences(path, "answer_notes", found.notes); }
  }

  trace::table make(std::string_view name, trace::model const& of, trace::view const& rows) const {
    if (name == "range_kernels") { return trace::range_kernels(of, asked_.filter(of)); }
    if (name == "what_if") {
      return trace::what_if(asked_.range.empty()
                                ? std::vector{rows}
                                : trace::instances(of, asked_.filter(of), most_instances));
    }
    if (name == "class_shares") { return trace::class_shares(rows, asked_.classifier()); }
    return trace::make_report(name, rows);
  }

  /// The options that steps of two files have.
  profile::step_choice choice() const {
    return {asked_.range,
            {asked_.files[0], asked_.files[1]},
            asked_.steps,
            [this](auto const& of) { return asked_.filter(of); },
            [this](auto const& name, auto const& of) { return asked_.filter_by(name, of); }};
  }

  static void require_matches(profile::compared_steps const& steps) {
    for (auto const& [gate, known] : steps.unmatched()) {
      detail::refuse_choice(concat({"--fail-if '", gate->text, "'"}), "a step of either FILE",
                            gate->kind + " of that name",
                            gate->kind == "copy" ? "copies" : gate->kind + "s", known);
    }
  }

  static exit_code code_of(profile::gates_answer answer) {
    return answer == profile::gates_answer::fail       ? gate_holds
           : answer == profile::gates_answer::unproven ? gate_unproven
                                                       : ok;
  }

  exit_code differences() {
    auto const& paths = asked_.files;
    auto const of = read(paths[0]), other = read(paths[1]);
    auto const rows = trace::select(of, asked_.filter(of));
    auto const other_rows = trace::select(other, asked_.filter(other));
    auto const changed =
        trace::paired_difference({trace::breakdown_of(rows)}, {trace::breakdown_of(other_rows)});
    if (is_text()) { print_sentences(paths[1], "difference", report::sentences(changed, "")); }
    print_table(paths[1], trace::difference_table(changed), !is_text());
    both(of, rows, other, other_rows);
    return ok;
  }

  /// The difference per instance of a range.
  exit_code step_differences() {
    auto const& path = asked_.files[1];
    auto const of = read(asked_.files[0]), other = read(path);
    profile::compared_steps const steps{choice(), of, other};
    require_matches(steps);
    auto const lines = steps.lines(), gates = steps.gate_lines();
    if (!asked_.html.empty()) {
      auto all = lines;
      all.insert(all.begin() + 1, gates.begin(), gates.end());
      write_atomically(asked_.html,
                       report::steps_page(steps.found(), steps.names(), steps.headline(), all));
    }
    if (!asked_.steps.junit.empty()) { write_atomically(asked_.steps.junit, steps.junit()); }
    constexpr std::size_t most_lines = 20;
    if (asked_.format != "csv") {
      print_sentences(path, "step_summary", lines);
      if (!gates.empty()) { print_sentences(path, "gates", gates); }
    }
    print_table(path, profile::step_table(steps.found(), asked_.range, is_text() ? most_lines : 0),
                true);
    if (asked_.format == "csv") {
      for (auto const& line : gates) { err_ << report::printable(line) << '\n'; }
    }
    both(of, trace::select(of, asked_.filter(of)), other,
         trace::select(other, asked_.filter(other)));
    return code_of(steps.answer());
  }

  /// The reports that were asked for by name, and what the traces lack.
  void both(trace::model const& of, trace::view const& rows, trace::model const& other,
            trace::view const& other_rows) {
    auto const& paths = asked_.files;
    for (auto const& name : asked_.reports) {
      print_table(paths[0], make(name, of, rows), true);
      print_table(paths[1], make(name, other, other_rows), true);
    }
    print_losses(paths[0], of, rows);
    print_losses(paths[1], other, other_rows);
  }

  void print_sentences(std::string const& path, std::string const& name,
                       std::vector<std::string> const& lines) {
    output_.sentences(path, name, lines);
  }

  void print_table(std::string const& path, trace::table const& of, bool also_empty) {
    output_.table(path, of, also_empty);
  }

  void print_losses(std::string const& path, trace::model const& of, trace::view const& rows) {
    auto lines = profile::lacking(rows);
    if (auto const others = trace::launched_by_others(of, asked_.filter(of)); others > 0) {
      lines.push_back(
          concat({std::to_string(others), " pieces of device work that other threads ",
                  "launched in the time of `", asked_.range, "`; --all-threads takes them"}));
    }
    output_.lacks(path, lines);
  }

  trace_stats_options const& asked_;
  std::ostream& out_;
  std::ostream& err_;
  profile::trace_output output_;
};

ASSAY_INLINE int trace_stats(int argc, char const* const* argv, std::ostream& out,
                             std::ostream& err) {
  CLI::App app{
      "Prints the tables of `nsys stats`, and further tables of assay, from SQLite exports of "
      "nsys."};
  trace_stats_options asked;
  asked.add_to(app);
  auto const body = [&]() -> int {
    asked.validate();
    try {
      return trace_stats_printer{asked, out, err}.print();
    } catch (read_error const& error) { throw std::invalid_argument(error.what()); }
  };
  return guarded(app, argc, argv, body, out, err);
}

}  // namespace assay::cli
