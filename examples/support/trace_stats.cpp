// SPDX-License-Identifier: Apache-2.0
#include "trace_stats.hpp"

#include "cli.hpp"
#include "trace_tables.hpp"

#include <assay/chrome/chrome.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/nsys/sqlite_read.hpp>
#include <assay/report/explanation.hpp>
#include <assay/report/trace_json.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/report/trace_words.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/overlap_reasons.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {
namespace {

/// The names of ranges, most frequent first.
std::vector<std::string> names_of_ranges(trace::model const& of) {
  std::map<std::string, int> counts;
  for (auto const& each : of.ranges) { ++counts[std::string{of.strings[each.name]}]; }
  std::vector<std::string> names;
  for (auto const& [name, count] : counts) { names.push_back(name); }
  std::ranges::stable_sort(names, std::greater{}, [&](auto const& name) { return counts[name]; });
  return names;
}

/// The options of the command line.
struct stats_options {
  std::vector<std::string> files, reports, classes, phases;
  std::string format = "text", range, kernel, output, perfetto;
  std::int64_t device = 0;
  std::uint32_t stream = 0;
  bool has_device = false, has_stream = false, explain_overlap = false, diff = false, csv = false,
       json = false;

  void add_to(CLI::App& app) {
    app.add_option("FILE", files,
                   "exports of nsys (`nsys export --type sqlite`), or traces of assay")
        ->required();
    app.add_option("--report", reports, "these reports only, by name; several, or with commas")
        ->delimiter(',')
        ->allow_extra_args(false);
    auto* const any = app.add_option("--format", format, "text, csv or json");
    any->capture_default_str();
    auto* const is_csv = app.add_flag("--csv", csv, "the same as --format csv")->excludes(any);
    app.add_flag("--json", json, "the same as --format json")->excludes(any)->excludes(is_csv);
    app.add_option("--range", range,
                   "what ranges of this name, or DOMAIN:NAME, launched or did; a glob");
    app.add_option("--device", device, "work on this device");
    app.add_option("--stream", stream, "work in this stream");
    app.add_option("--kernel", kernel, "kernels with this in their name; a glob");
    app.add_option("--output", output, "write each report to PREFIX_REPORT.EXTENSION")
        ->type_name("PREFIX");
    app.add_option("--phases", phases,
                   "compare two ranges, with what all threads launched in them, by class of work")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("A,B");
    app.add_option("--class", classes,
                   "a class of kernels for the shares, before the built-in ones")
        ->allow_extra_args(false)
        ->type_name("NAME=GLOB");
    app.add_flag("--explain-overlap", explain_overlap,
                 "say whether copies overlap kernels, how much, and if not, why");
    app.add_flag("--diff", diff, "say what changed from the first of two FILEs to the second");
    app.add_option("--perfetto", perfetto, "write the trace as JSON for Perfetto")
        ->type_name("OUT.json");
    std::string known = "Reports:";
    auto const list = [&](auto const& some) {
      for (auto const& each : some) { known += " " + std::string{each.name}; }
    };
    list(trace::reports);
    known += "; of assay alone:";
    list(trace::own_reports);
    app.footer(known + "; with --range also range_kernels.\nExit codes: 0 done; 2 bad input; " +
               "4 failed (memory, file).");
  }

  void validate(CLI::App const& app) {
    has_device = app.count("--device") != 0;
    has_stream = app.count("--stream") != 0;
    if (csv) { format = "csv"; }
    if (json) { format = "json"; }
    cli::choose("format", format, {"text", "csv", "json"});
    take_reports_from_files();
    if (app.count("--phases") != 0 && phases.size() != 2) {
      throw std::invalid_argument("--phases names two ranges, as in --phases forward,step");
    }
    auto const of_files = [&](char const* option, bool given, std::size_t count) {
      if (!given || files.size() == count) { return; }
      throw std::invalid_argument(std::string{option} + " goes with " +
                                  (count == 1 ? "one FILE" : "two FILEs") + ", not " +
                                  std::to_string(files.size()));
    };
    of_files("--diff", diff, 2);
    of_files("--perfetto", !perfetto.empty(), 1);
    for (auto const& name : reports) {
      if (name == "range_kernels" && !range.empty()) { continue; }
      trace::model const none;
      (void)trace::make_report(name, none);  // refuses a name that there is not
    }
    (void)classifier();
  }

  /// `--report NAME NAME` leaves the second among the files: there is none of that name, as a rule.
  void take_reports_from_files() {
    if (reports.empty()) { return; }
    auto const is_report = [](std::string const& name) {
      auto const named = [&](auto const& some) {
        return std::ranges::any_of(some, [&](auto const& each) { return each.name == name; });
      };
      return (name == "range_kernels" || named(trace::reports) || named(trace::own_reports)) &&
             !std::filesystem::exists(name);
    };
    auto const first = std::stable_partition(files.begin(), files.end(),
                                             [&](auto const& each) { return !is_report(each); });
    reports.insert(reports.end(), first, files.end());
    files.erase(first, files.end());
    if (files.empty()) { throw std::invalid_argument("name a FILE beside the reports"); }
  }

  /// Refuses what chooses nothing of a trace, naming what there is.
  void require_any(std::string const& path, trace::model const& of) const {
    auto const refuse = [&](std::string const& option, std::string const& value,
                            std::string const& what, std::vector<std::string> const& known) {
      std::string there;
      constexpr std::size_t most = 8;
      for (std::size_t i = 0; i < std::min(most, known.size()); ++i) {
        there += (i == 0 ? "; there are " : ", ") + known[i];
      }
      if (known.size() > most) { there += ", ..."; }
      throw std::invalid_argument(option + " " + value + ": " + path + " has no " + what +
                                  (known.empty() ? ", and none at all" : there));
    };
    for (auto const& name : std::vector<std::string>{range, phases.empty() ? "" : phases[0],
                                                     phases.size() < 2 ? "" : phases[1]}) {
      if (name.empty() || has_range(of, filter_by(name, of))) { continue; }
      refuse(name == range ? "--range" : "--phases", "'" + name + "'", "range of that name",
             names_of_ranges(of));
    }
    trace::filter by;
    by.kernel = kernel;
    if (!kernel.empty() && trace::select(of, by).kernels.empty()) {
      std::set<std::string> names;
      for (auto const& each : of.kernels) {
        names.insert(report::detail::short_name(of.strings[each.name]));
      }
      refuse("--kernel", "'" + kernel + "'", "kernel with that in its name",
             {names.begin(), names.end()});
    }
    std::set<std::int64_t> devices, streams;
    for (auto const& each : trace::view{of}.gpu_operations()) {
      auto const& where = trace::place_of(of, each);
      devices.insert(where.device);
      streams.insert(where.stream);
    }
    auto const require = [&](std::string const& what, bool given, std::int64_t value,
                             std::set<std::int64_t> const& known) {
      if (!given || known.contains(value)) { return; }
      std::vector<std::string> names;
      for (auto const each : known) { names.push_back(std::to_string(each)); }
      refuse("--" + what, std::to_string(value), "work in that " + what, names);
    };
    require("device", has_device, device, devices);
    require("stream", has_stream, stream, streams);
  }

  trace::filter filter(trace::model const& of) const { return filter_by(range, of); }

  /// The same for another range: its name, or `domain:name` as reports print it. Both may have
  /// colons of their own, so that each colon is tried.
  trace::filter filter_by(std::string const& name, trace::model const& of) const {
    trace::filter by;
    by.range = name;
    by.kernel = kernel;
    if (has_device) { by.device = static_cast<std::int32_t>(device); }
    if (has_stream) { by.stream = stream; }
    if (name.empty() || has_range(of, by)) { return by; }
    auto split_by = by;
    for (auto at = name.find(':'); at != std::string::npos; at = name.find(':', at + 1)) {
      split_by.domain = name.substr(0, at);
      split_by.range = name.substr(at + 1);
      if (has_range(of, split_by)) { return split_by; }
    }
    return by;
  }

  static bool has_range(trace::model const& of, trace::filter const& by) {
    return !trace::detail::outermost_ranges(of, trace::view{of}.ranges, by).empty();
  }

  trace::kernel_classifier classifier() const {
    auto made = trace::default_classes();
    for (auto each = classes.rbegin(); each != classes.rend(); ++each) {
      auto const split = each->find('=');
      if (split == 0 || split == std::string::npos || split + 1 == each->size()) {
        throw std::invalid_argument("--class " + *each +
                                    ": write NAME=GLOB, as in mine=*my_kernel*");
      }
      made = made.with(each->substr(0, split), each->substr(split + 1));
    }
    return made;
  }
};

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
      if (!asked_.perfetto.empty()) { trace::write_chrome(of, asked_.perfetto); }
      auto const rows = trace::select(of, asked_.filter(of));
      tables(path, of, rows);
      if (asked_.explain_overlap) {
        print_sentences(path, "explain_overlap",
                        report::sentences(trace::explain_overlap(rows), of));
      }
      if (is_text()) { print_losses(of); }
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

  /// Writes the JSON: one report as it is, several as members of an object, and those of several
  /// files as members of an object for each file.
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
    auto const others =
        !asked_.phases.empty() || asked_.explain_overlap || !asked_.perfetto.empty();
    if (asked_.reports.empty() && !others) {
      if (!asked_.range.empty()) { print_table(path, make("range_kernels", of, rows), false); }
      for (auto const name : default_reports()) { print_table(path, make(name, of, rows), false); }
    }
    for (auto const& name : asked_.reports) { print_table(path, make(name, of, rows), true); }
    if (asked_.phases.size() == 2) {
      std::vector<trace::phase> phases;
      for (auto const& name : asked_.phases) {
        auto by = asked_.filter_by(name, of);
        by.any_thread = true;
        phases.push_back({name, trace::select(of, by)});
      }
      print_table(path, trace::compare_phases(phases[0], phases[1], asked_.classifier()), true);
    }
  }

  trace::table make(std::string_view name, trace::model const& of, trace::view const& rows) const {
    if (name == "range_kernels") {
      return trace::range_kernels(trace::view{of}, asked_.filter(of));
    }
    if (name == "class_shares") { return trace::class_shares(rows, asked_.classifier()); }
    return trace::make_report(name, rows);
  }

  void differences() {
    auto const& paths = asked_.files;
    auto const of = trace::read_nsys(paths[0]);
    auto const other = trace::read_nsys(paths[1]);
    asked_.require_any(paths[0], of);
    asked_.require_any(paths[1], other);
    auto const rows = trace::select(of, asked_.filter(of));
    auto const other_rows = trace::select(other, asked_.filter(other));
    auto const time = trace::run_extent(other_rows).length() - trace::run_extent(rows).length();
    auto const changed = trace::difference({rows}, {other_rows}, static_cast<double>(time));
    if (is_text()) { print_sentences(paths[1], "difference", report::sentences(changed)); }
    print_table(paths[1], trace::difference_table(changed), !is_text());
    for (auto const& name : asked_.reports) {
      print_table(paths[0], make(name, of, rows), true);
      print_table(paths[1], make(name, other, other_rows), true);
    }
    if (!is_text()) { return; }
    print_losses(of);
    print_losses(other);
  }

  void print_sentences(std::string const& path, std::string const& name,
                       std::vector<std::string> const& lines) {
    if (is_json()) {
      documents_.push_back({path, name, report::document(lines).dump() + "\n"});
      return;
    }
    for (auto const& line : lines) {
      out_ << report::wrapped(report::detail::printable(line), "", "  ");
    }
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

  void print_losses(trace::model const& of) {
    auto lines = trace::loss_notes(of);
    auto const of_cuda = [](auto const& call) { return call.layer != trace::api::os; };
    if (trace::view{of}.gpu_operations().empty() && std::ranges::none_of(of.calls, of_cuda)) {
      lines.push_back(
          "CUDA: neither calls nor work of a device are in the trace; `nsys profile "
          "--trace=cuda,nvtx PROGRAM` records both");
    }
    if (auto const graphs = trace::view{of}.whole_graphs().size(); graphs > 0) {
      lines.push_back("the kernels of " + std::to_string(graphs) + " graph launch" +
                      (graphs == 1 ? "" : "es") + ", recorded whole and counted as one kernel " +
                      "each; `nsys profile --cuda-graph-trace=node` records them");
    }
    for (auto const& line : lines) {
      out_ << report::wrapped("lacking: " + report::detail::printable(line), "", "  ");
    }
  }

  stats_options const& asked_;
  std::ostream& out_;
  std::vector<document> documents_;
};

}  // namespace

int trace_stats(int argc, char const* const* argv, std::ostream& out, std::ostream& err) {
  auto const complain = [&](std::exception const& error, char const* help, int code) {
    err << "error: " << report::detail::printable(cli::detail::one_line(error)) << help << '\n';
    return code;
  };
  try {
    CLI::App app{"Tables of traces: those of `nsys stats`, and what it does not tell."};
    stats_options asked;
    asked.add_to(app);
    try {
      app.parse(argc, argv);
    } catch (CLI::CallForHelp const&) {
      out << app.help();
      return cli::ok;
    } catch (CLI::ParseError const& error) {
      return complain(error, "; see --help", cli::bad_input);
    }
    asked.validate(app);
    stats_printer{asked, out}.print();
    return cli::ok;
  } catch (read_error const& error) {
    return complain(error, "", cli::bad_input);
  } catch (std::bad_alloc const&) {
    err << "error: out of memory\n";
    return cli::failed;
  } catch (std::exception const& error) {
    return complain(error, "", cli::detail::is_bad_input(error) ? cli::bad_input : cli::failed);
  }
}

}  // namespace assay::examples
