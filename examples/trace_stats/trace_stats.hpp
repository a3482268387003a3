// SPDX-License-Identifier: Apache-2.0
/// @file
/// The tables of traces in files, as a program.
#pragma once

#include "difference_table.hpp"
#include "options.hpp"
#include "overlap_reasons.hpp"
#include "overlap_words.hpp"
#include "phases.hpp"
#include "range_kernels.hpp"
#include "select.hpp"

#include <assay/chrome/chrome.hpp>
#include <assay/cli/guarded.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/nsys/sqlite_read.hpp>
#include <assay/report/explanation.hpp>
#include <assay/report/trace_json.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/report/trace_words.hpp>
#include <assay/trace/difference.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {

/// Answers the questions, file by file.
class stats_printer {
 public:
  stats_printer(stats_options const& asked, std::ostream& out) : asked_(asked), out_(out) {}

  void print() {
    if (asked_.diff) {
      differences();
      return finish();
    }
    for (auto const& path : asked_.files) {
      auto const of = trace::read_nsys(path);
      asked_.require_any(path, of);
      if (asked_.files.size() > 1 && is_text() && asked_.output.empty()) {
        out_ << "## " << path << "\n\n";
      }
      auto const rows = select(of, asked_.filter(of));
      if (!asked_.perfetto.empty()) { trace::write_chrome(rows.of(), asked_.perfetto); }
      if (asked_.answers) { answers(path, rows); }
      tables(path, of, rows);
      if (asked_.explain_overlap) {
        print_sentences(path, "explain_overlap",
                        overlap_sentences(explain_overlap(rows), rows.of()));
      }
      if (is_text()) { print_losses(rows); }
    }
    finish();
  }

 private:
  /// A report as JSON, of a file.
  struct document {
    std::string path, name, text;
  };

  bool is_text() const { return asked_.format == "text"; }
  bool is_json() const { return asked_.format == "json"; }

  /// Writes the JSON. One report is a document. Several reports are the members of an object, and
  /// several files are objects in an object.
  void finish() {
    if (documents_.size() == 1 && (asked_.files.size() == 1 || asked_.diff)) {
      out_ << documents_.front().text;
      return;
    }
    if (!is_json() || !asked_.output.empty()) { return; }
    if (asked_.files.size() == 1) {
      write_members(asked_.files.front());
    } else {
      auto separator = "{\n";
      for (auto const& path : std::set(asked_.files.begin(), asked_.files.end())) {
        out_ << separator << quoted(path) << ": ";
        write_members(path);
        separator = ",\n";
      }
      out_ << '}';
    }
    out_ << '\n';
  }

  static std::string quoted(std::string const& text) {
    return report::document(text).dump(-1, ' ', false, report::document::error_handler_t::replace);
  }

  /// Writes the reports of one file as the members of an object.
  void write_members(std::string const& path) {
    out_ << '{';
    bool first = true;
    for (auto const& each : documents_) {
      if (each.path != path) { continue; }
      out_ << (first ? "\n" : ",\n") << quoted(each.name) << ": " << each.text;
      first = false;
    }
    out_ << '}';
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
    if (asked_.phases.size() == 2) {
      std::vector<phase> phases;
      for (auto const& name : asked_.phases) {
        auto by = asked_.filter_by(name, of);
        by.any_thread = true;
        phases.push_back({name, select(of, by)});
      }
      print_table(path, compare_phases(phases[0], phases[1], asked_.classifier()), true);
    }
  }

  void answers(std::string const& path, trace::view const& rows) {
    trace_answers const found{rows, asked_.answer, asked_.classifier()};
    print_table(path, found.answers(), true);
    print_table(path, found.kernels(), false);
    if (is_text() || is_json()) { print_sentences(path, "answer_notes", found.notes()); }
  }

  trace::table make(std::string_view name, trace::model const& of, trace::view const& rows) const {
    if (name == "range_kernels") { return range_kernels(trace::view{of}, asked_.filter(of)); }
    if (name == "class_shares") { return trace::class_shares(rows, asked_.classifier()); }
    return trace::make_report(name, rows);
  }

  void differences() {
    auto const& paths = asked_.files;
    auto const of = trace::read_nsys(paths[0]);
    auto const other = trace::read_nsys(paths[1]);
    asked_.require_any(paths[0], of);
    asked_.require_any(paths[1], other);
    auto const rows = select(of, asked_.filter(of));
    auto const other_rows = select(other, asked_.filter(other));
    auto const time = trace::run_extent(other_rows).length() - trace::run_extent(rows).length();
    auto const changed = trace::difference({rows}, {other_rows}, static_cast<double>(time));
    if (is_text()) { print_sentences(paths[1], "difference", report::sentences(changed)); }
    print_table(paths[1], difference_table(changed), !is_text());
    for (auto const& name : asked_.reports) {
      print_table(paths[0], make(name, of, rows), true);
      print_table(paths[1], make(name, other, other_rows), true);
    }
    if (!is_text()) { return; }
    print_losses(rows);
    print_losses(other_rows);
  }

  void print_sentences(std::string const& path, std::string const& name,
                       std::vector<std::string> const& lines) {
    if (is_json()) {
      documents_.push_back({path, name, report::document(lines).dump() + "\n"});
      return;
    }
    for (auto const& line : lines) { out_ << report::wrapped(report::printable(line), "", "  "); }
    out_ << '\n';
  }

  void print_table(std::string const& path, trace::table const& of, bool also_empty) {
    if (of.rows() == 0 && !also_empty) { return; }
    if (asked_.output.empty() && !is_json()) {
      write(out_, of);
      if (is_text()) { out_ << '\n'; }
      return;
    }
    std::ostringstream text;
    write(text, of);
    if (asked_.output.empty()) {
      documents_.push_back({path, of.name(), text.str()});
      return;
    }
    auto name = asked_.output;
    if (asked_.files.size() > 1) { name += "_" + std::filesystem::path{path}.stem().string(); }
    name += "_" + of.name() + (is_text() ? ".txt" : "." + asked_.format);
    write_atomically(name, text.str());
    out_ << name << '\n';
  }

  void write(std::ostream& to, trace::table const& of) const {
    if (asked_.format == "csv") { return report::csv_table(to, of); }
    if (asked_.format == "json") { return report::json_table(to, of); }
    if (of.rows() == 0) {
      to << "SKIPPED: the trace has no data for " << of.name() << ".\n";
    } else {
      report::text(to, of);
    }
  }

  void print_losses(trace::view const& rows) {
    auto const& of = rows.whole();
    auto lines = trace::loss_notes(of);
    auto const of_cuda = [](auto const& call) { return call.layer != trace::api::os; };
    auto any = std::ranges::any_of(of.calls, of_cuda);
    trace::each_device_table(of, [&](auto const& table) { any = any || !table.empty(); });
    if (!any) {
      lines.push_back(
          "CUDA: neither calls nor work of a device are in the trace; `nsys profile "
          "--trace=cuda,nvtx PROGRAM` records both");
    }
    auto const graphs = std::ranges::count(rows.operations(), trace::operation_kind::graph,
                                           &trace::gpu_operation::kind);
    if (graphs > 0) {
      lines.push_back("the kernels of " + std::to_string(graphs) + " graph launch" +
                      (graphs == 1 ? "" : "es") + ", recorded whole and counted as one kernel " +
                      "each; `nsys profile --cuda-graph-trace=node` records them");
    }
    for (auto const& line : lines) {
      out_ << report::wrapped("lacking: " + report::printable(line), "", "  ");
    }
  }

  stats_options const& asked_;
  std::ostream& out_;
  std::vector<document> documents_;
};

/// The program; returns its exit code. Errors are one line on `err`.
inline int trace_stats(int argc, char const* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app{
      "Prints the tables of `nsys stats`, and further tables of assay, from SQLite exports of "
      "nsys."};
  stats_options asked;
  asked.add_to(app);
  auto const body = [&]() -> int {
    asked.validate(app);
    try {
      stats_printer{asked, out}.print();
    } catch (read_error const& error) { throw std::invalid_argument(error.what()); }
    return cli::ok;
  };
  return cli::guarded(app, argc, argv, body, out, err);
}

}  // namespace assay::examples
