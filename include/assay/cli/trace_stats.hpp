// SPDX-License-Identifier: Apache-2.0
/// @file
/// `trace_stats`: the tables of traces in files, as a program. Needs CLI11, nlohmann_json and
/// SQLite.
#pragma once

#include <assay/chrome/chrome.hpp>
#include <assay/chrome/json_text.hpp>
#include <assay/cli/guarded.hpp>
#include <assay/cli/trace_stats_options.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/nsys/answers.hpp>
#include <assay/nsys/impossible_times.hpp>
#include <assay/nsys/overlap_reasons.hpp>
#include <assay/nsys/range_tables.hpp>
#include <assay/nsys/rank_tables.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/nsys/select.hpp>
#include <assay/nsys/sqlite_read.hpp>
#include <assay/nsys/what_if.hpp>
#include <assay/page/ranks.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/format.hpp>
#include <assay/report/overlap_words.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/report/trace_words.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/rank_trace.hpp>
#include <assay/trace/ranks.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::cli {

/// Answers the questions, file by file.
class trace_stats_printer {
 public:
  trace_stats_printer(trace_stats_options const& asked, std::ostream& out)
      : asked_(asked), out_(out) {}

  void print() {
    if (asked_.diff) {
      differences();
      return finish();
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
      print_losses(rows);
    }
    if (is_text() && with_collectives > 1) {
      out_ << "hint: " << with_collectives << " ranks ran collectives; --ranks matches them.\n";
    }
    finish();
  }

 private:
  /// Compares all ranks of all files. Each trace goes before the next one is read.
  void ranks() {
    trace::rank_collector all;
    for (auto const& path : asked_.files) {
      auto const of = read(path);
      all.add(path, trace::select(of, asked_.filter(of)));
    }
    auto const found = trace::compare_ranks(all);
    auto const notes = trace::rank_notes(found, all);
    auto const tables = trace::rank_tables(found, all, notes);
    if (!asked_.html.empty()) {
      write_atomically(asked_.html, report::ranks_page(found, all, notes));
    }
    if (is_json() && asked_.output.empty()) {
      auto separator = "{\n";
      for (auto const& each : tables) {
        out_ << separator << trace::quoted(each.name()) << ": ";
        report::json_table(out_, each);
        separator = ",\n";
      }
      out_ << "}\n";
      return;
    }
    for (auto const& each : tables) {
      auto const sentences = each.name() == "rank_notes" && is_text() && asked_.output.empty();
      if (!sentences) { print_table(asked_.files[0], each, false); }
    }
    if (is_text()) { print_sentences("", "", notes); }
  }

  /// A report as JSON, of a file.
  struct document {
    std::string path, name, text;
  };

  static constexpr std::size_t most_instances = 200;

  bool is_text() const { return asked_.format == "text"; }
  bool is_json() const { return asked_.format == "json"; }

  trace::model read(std::string const& path) const {
    auto made = trace::read_nsys(path);
    asked_.require_any(path, made);
    return made;
  }

  /// Two reports of one file and name would be one member of an object twice.
  void add_document(document made) {
    auto const same = [&](auto const& each) {
      return each.path == made.path && each.name == made.name;
    };
    if (std::ranges::none_of(documents_, same)) { documents_.push_back(std::move(made)); }
  }

  /// The begin of the names of what is written for a file: its stem, or its path where another
  /// file has that stem.
  std::string label_of(std::string const& path) const {
    auto const stem = [](std::string const& of) { return std::filesystem::path{of}.stem(); };
    auto const same = [&](auto const& each) { return each != path && stem(each) == stem(path); };
    if (std::ranges::none_of(asked_.files, same)) { return stem(path).string(); }
    auto label = path;
    std::ranges::replace(label, '/', '_');
    return label;
  }

  /// Writes the JSON. One report is a document. Several reports are the members of an object, and
  /// several files are objects in an object.
  void finish() {
    if (documents_.size() == 1 && (asked_.files.size() == 1 || asked_.diff)) {
      out_ << documents_.front().text;
      return;
    }
    if (!is_json() || !asked_.output.empty()) { return; }
    auto const several = asked_.files.size() > 1;
    auto separator = several ? "{\n" : "";
    for (auto const& path : std::set(asked_.files.begin(), asked_.files.end())) {
      out_ << separator << (several ? trace::quoted(path) + ": " : "");
      separator = "{";
      for (auto const& each : documents_) {
        if (each.path != path) { continue; }
        out_ << separator << '\n' << trace::quoted(each.name) << ": " << each.text;
        separator = ",";
      }
      out_ << (separator[0] == '{' ? "{}" : "}");
      separator = ",\n";
    }
    out_ << (several ? "}\n" : "\n");
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

  /// The runs of a file, to be paired with those of another: the instances of a range, else the
  /// whole trace.
  std::vector<trace::run_breakdown> runs_of(trace::model const& of, trace::view const& rows) const {
    std::vector<trace::run_breakdown> made;
    if (asked_.range.empty()) { return {trace::breakdown_of(rows)}; }
    for (auto const& each : trace::instances(of, asked_.filter(of), most_instances)) {
      made.push_back(trace::breakdown_of(each));
    }
    return made;
  }

  void differences() {
    auto const& paths = asked_.files;
    auto const of = read(paths[0]), other = read(paths[1]);
    auto const rows = trace::select(of, asked_.filter(of));
    auto const other_rows = trace::select(other, asked_.filter(other));
    auto first = runs_of(of, rows), second = runs_of(other, other_rows);
    auto const pairs = std::min(first.size(), second.size());
    auto const left = std::max(first.size(), second.size()) - pairs;
    first.resize(pairs);
    second.resize(pairs);
    auto const changed = trace::paired_difference(first, second);
    if (is_text()) {
      auto lines = report::sentences(changed, "instances of the range in each");
      if (left > 0) { lines.push_back(std::to_string(left) + " instances have no partner."); }
      print_sentences(paths[1], "difference", lines);
    }
    print_table(paths[1], trace::difference_table(changed), !is_text());
    for (auto const& name : asked_.reports) {
      print_table(paths[0], make(name, of, rows), true);
      print_table(paths[1], make(name, other, other_rows), true);
    }
    print_losses(rows);
    print_losses(other_rows);
  }

  void print_sentences(std::string const& path, std::string const& name,
                       std::vector<std::string> const& lines) {
    if (is_json()) {
      std::string text;
      for (auto const& line : lines) { text += (text.empty() ? "[" : ",") + trace::quoted(line); }
      add_document({path, name, (text.empty() ? "[" : text) + "]\n"});
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
      add_document({path, of.name(), text.str()});
    } else {
      auto name = asked_.output;
      if (asked_.files.size() > 1 && !asked_.ranks) { name += "_" + label_of(path); }
      name += "_" + of.name() + (is_text() ? ".txt" : "." + asked_.format);
      if (auto const [at, fresh] = written_.emplace(name, path); !fresh && at->second != path) {
        throw std::invalid_argument("--output " + asked_.output + ": tables of " + at->second +
                                    " and " + path + " would both be " + name);
      }
      write_atomically(name, text.str());
      out_ << name << '\n';
    }
  }

  void write(std::ostream& to, trace::table const& of) const {
    if (asked_.format == "csv") { return report::csv_table(to, of); }
    if (is_json()) { return report::json_table(to, of); }
    if (of.rows() > 0) { return report::text(to, of); }
    to << "SKIPPED: the trace has no data for " << of.name() << ".\n";
  }

  void print_losses(trace::view const& rows) {
    if (!is_text()) { return; }
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
    if (auto const [kernel, later] = trace::outlasting(rows); kernel != trace::no_row) {
      auto const& run = rows.of().kernels[kernel];
      lines.push_back(
          "a credible time of " + trace::short_kernel_name(rows.of().strings[run.name]) + ": its " +
          report::duration(1e-9 * static_cast<double>(run.when.length())) + " outlast " +
          std::to_string(later) + " later kernels of its stream, and shares of time count it");
    }
    for (auto const& line : lines) {
      out_ << report::wrapped("lacking: " + report::printable(line), "", "  ");
    }
  }

  trace_stats_options const& asked_;
  std::ostream& out_;
  std::vector<document> documents_;
  std::map<std::string, std::string> written_;  ///< the FILE of each file
};

/// The program; returns its exit code. Errors are one line on `err`.
inline int trace_stats(int argc, char const* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app{
      "Prints the tables of `nsys stats`, and further tables of assay, from SQLite exports of "
      "nsys."};
  trace_stats_options asked;
  asked.add_to(app);
  auto const body = [&]() -> int {
    asked.validate();
    try {
      trace_stats_printer{asked, out}.print();
    } catch (read_error const& error) { throw std::invalid_argument(error.what()); }
    return ok;
  };
  return guarded(app, argc, argv, body, out, err);
}

}  // namespace assay::cli
