// SPDX-License-Identifier: Apache-2.0
/// @file
/// The output of `trace_stats`: tables and sentences of several files as text, CSV or JSON, and
/// what the traces lack.
#pragma once

#include <assay/chrome/json_text.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/nsys/impossible_times.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/format.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/report/trace_words.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::profile {

/// What a trace has no data for, or no credible data.
inline std::vector<std::string> lacking(trace::view const& rows) {
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
    lines.push_back(concat({"the kernels of ", std::to_string(graphs), " graph launch",
                            graphs == 1 ? "" : "es", ", recorded whole and counted as one kernel ",
                            "each; `nsys profile --cuda-graph-trace=node` records them"}));
  }
  if (auto const [kernel, later] = trace::outlasting(rows); kernel != trace::no_row) {
    auto const& run = rows.of().kernels[kernel];
    lines.push_back(concat(
        {"a credible time of ", trace::short_kernel_name(rows.of().strings[run.name]), ": its ",
         report::duration(1e-9 * static_cast<double>(run.when.length())), " outlast ",
         std::to_string(later), " later kernels of its stream, and shares of time count it"}));
  }
  return lines;
}

/// The format of an output.
struct output_format {
  std::string name;                ///< "text", "csv" or "json"
  std::string prefix;              ///< of a file for each table; empty: none
  std::vector<std::string> files;  ///< the traces
  run_files taken;                 ///< what no table may overwrite
  bool together = false;           ///< JSON is one object, though there are two files
};

/// Prints tables and sentences. JSON is kept until `finish`.
class trace_output {
 public:
  trace_output(output_format of, std::ostream& out, std::ostream& err)
      : of_{std::move(of)}, out_{out}, err_{err} {}

  void sentences(std::string const& path, std::string const& name,
                 std::vector<std::string> const& lines) {
    if (is_json()) {
      add_document({path, name, json_list(lines)});
      return;
    }
    for (auto const& line : lines) { out_ << report::wrapped(report::printable(line), "", "  "); }
    out_ << '\n';
  }

  /// A table without rows is written if it was asked for by name, `also_empty`.
  void table(std::string const& path, trace::table const& of, bool also_empty) {
    if (of.rows() == 0 && !also_empty) { return; }
    if (of.rows() == 0 && !is_text() && of.name() != "difference") {
      lacking_[path].push_back("the trace has no data for " + of.name());
    }
    if (of_.prefix.empty() && !is_json()) {
      if (!is_text() && tables_++ > 0) { out_ << '\n'; }
      write(out_, of);
      if (is_text()) { out_ << '\n'; }
      return;
    }
    std::ostringstream text;
    write(text, of);
    if (of_.prefix.empty()) {
      add_document({path, of.name(), text.str()});
    } else {
      auto name = of_.prefix;
      if (of_.files.size() > 1) { name += "_" + label_of(path); }
      name += concat({"_", of.name(), is_text() ? ".txt" : "." + of_.name});
      if (auto const [at, fresh] = written_.emplace(name, path); fresh) {
        of_.taken.write(concat({"--output ", of_.prefix, " of ", path}), name);
      } else if (at->second != path) {
        throw std::invalid_argument(concat({"--output ", of_.prefix, ": tables of ", at->second,
                                            " and ", path, " would both be ", name}));
      }
      write_atomically(name, text.str());
      out_ << name << '\n';
    }
  }

  /// Tells what a file lacks, each line once: beside text at once, else in `finish`.
  void lacks(std::string const& path, std::vector<std::string> const& lines) {
    auto& kept = lacking_[path];
    auto const file = of_.files.size() > 1 ? report::printable(path) + ": " : std::string{};
    for (auto const& line : lines) {
      if (std::ranges::find(kept, line) != kept.end()) { continue; }
      kept.push_back(line);
      if (!is_text()) { continue; }
      out_ << report::wrapped(concat({"lacking: ", file, report::printable(line)}), "", "  ");
    }
  }

  /// Writes the JSON. One report is a document. Several reports are the members of an object, and
  /// several files are objects in an object. What is lacking is a member where there is an object.
  /// Else it goes to the error stream, unless the output is text.
  void finish() {
    if (documents_.size() == 1 &&
        (of_.files.size() == 1 || documents_.front().name == "difference")) {
      out_ << documents_.front().text;
    } else if (is_json() && of_.prefix.empty()) {
      return of_.together ? finish_together() : finish_files(of_.files);
    }
    if (is_text()) { return; }
    for (auto const& [path, lines] : lacking_) {
      for (auto const& line : lines) {
        err_ << "lacking: " << (of_.files.size() > 1 ? report::printable(path) + ": " : "")
             << report::printable(line) << '\n';
      }
    }
  }

 private:
  /// A report as JSON, of a file.
  struct document {
    std::string path, name, text;
  };

  bool is_text() const { return of_.name == "text"; }
  bool is_json() const { return of_.name == "json"; }

  /// Two reports of one file and name would be one member of an object twice.
  void add_document(document made) {
    auto const same = [&](auto const& each) {
      return each.path == made.path && each.name == made.name;
    };
    if (std::ranges::none_of(documents_, same)) { documents_.push_back(std::move(made)); }
  }

  static std::string json_list(std::vector<std::string> const& lines) {
    std::string text;
    for (auto const& line : lines) { text += (text.empty() ? "[" : ",") + trace::quoted(line); }
    return (text.empty() ? "[" : text) + "]\n";
  }

  /// The begin of the names of what is written for a file: its stem, or its path where another
  /// file has that stem.
  std::string label_of(std::string const& path) const {
    auto const stem = [](std::string const& of) { return std::filesystem::path{of}.stem(); };
    auto const same = [&](auto const& each) { return each != path && stem(each) == stem(path); };
    if (std::ranges::none_of(of_.files, same)) { return stem(path).string(); }
    auto label = path;
    std::ranges::replace(label, '/', '_');
    return label;
  }

  void write(std::ostream& to, trace::table const& of) const {
    if (of_.name == "csv") { return report::csv_table(to, of); }
    if (is_json()) { return report::json_table(to, of); }
    if (of.rows() > 0) { return report::text(to, of); }
    to << "SKIPPED: the trace has no data for " << of.name() << ".\n";
  }

  void finish_together() {
    std::vector<std::string> lines;
    for (auto const& [path, some] : lacking_) {
      for (auto const& line : some) { lines.push_back(concat({path, ": ", line})); }
    }
    lacking_ = {{of_.files.back(), lines}};
    finish_files({of_.files.back()});
  }

  void finish_files(std::vector<std::string> const& files) {
    auto const several = files.size() > 1;
    auto separator = several ? "{\n" : "";
    for (auto const& path : std::set(files.begin(), files.end())) {
      out_ << separator << (several ? trace::quoted(path) + ": " : "");
      separator = "{";
      auto const& lacks = lacking_[path];
      if (!lacks.empty()) { add_document({path, "lacking", json_list(lacks)}); }
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

  output_format of_;
  std::ostream& out_;
  std::ostream& err_;
  int tables_ = 0;  ///< of CSV: an empty line stands between them
  std::vector<document> documents_;
  std::map<std::string, std::vector<std::string>> lacking_;  ///< what each file has no data for
  std::map<std::string, std::string> written_;               ///< the trace of each written file
};

}  // namespace assay::profile
