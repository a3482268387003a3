// SPDX-License-Identifier: Apache-2.0
#include "trace_stats.hpp"

#include "cli.hpp"
#include "trace_tables.hpp"

#include <assay/chrome/chrome.hpp>
#include <assay/chrome/read.hpp>
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

/// A trace in a file of `write_chrome`, of `write_nsys` or of nsys, told apart by how it begins.
trace::model read_trace(std::filesystem::path const& path) {
  (void)require_readable(path);  // a pipe would be waited for
  std::ifstream in{path, std::ios::binary};
  char first = 0;
  in >> first;
  return first == '{' ? trace::read_chrome(path) : trace::read_nsys(path);
}

/// The names of ranges, most frequent first.
std::vector<std::string> names_of_ranges(trace::model const& of) {
  std::map<std::string, int> counts;
  for (auto const& each : of.ranges) { ++counts[std::string{of.strings[each.name]}]; }
  std::vector<std::string> names;
  for (auto const& [name, count] : counts) { names.push_back(name); }
  std::ranges::stable_sort(names, std::greater{}, [&](auto const& name) { return counts[name]; });
  return names;
}

/// What the command line of `trace_stats` asks for.
struct trace_questions {
  std::vector<std::string> files, reports, classes, phases;
  std::string format = "text", range, kernel, output, perfetto;
  std::int64_t device = 0;
  std::uint32_t stream = 0;
  bool has_device = false, has_stream = false, explain_overlap = false, diff = false, csv = false,
       json = false;

  void add_to(CLI::App& app) {
    app.add_option("FILE", files, "exports of nsys (.sqlite), or traces of assay (.sqlite, .json)")
        ->required();
    app.add_option("--report", reports, "these reports only, by name; several, or with commas")
        ->delimiter(',')
        ->allow_extra_args(false);
    auto* const any = app.add_option("--format", format, "text, csv or json");
    any->capture_default_str();
    auto* const is_csv = app.add_flag("--csv", csv, "the same as --format csv")->excludes(any);
    app.add_flag("--json", json, "the same as --format json")->excludes(any)->excludes(is_csv);
    app.add_option("--range", range, "what ranges of this name launched or did; a glob");
    app.add_option("--device", device, "work on this device");
    app.add_option("--stream", stream, "work in this stream");
    app.add_option("--kernel", kernel, "kernels with this in their name; a glob");
    app.add_option("--output", output, "write each report to PREFIX_REPORT.EXTENSION")
        ->type_name("PREFIX");
    app.add_option("--phases", phases, "compare two ranges by class of work")
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

  void settle(CLI::App const& app) {
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
      if (name.empty() || !trace::detail::outermost(trace::view{of}, filter_by(name)).empty()) {
        continue;
      }
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
    for (auto const& each : trace::view{of}.device_work()) {
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

  trace::filter filter() const { return filter_by(range); }

  /// The same for another range. One that begins with a colon, as reports print them, is of the
  /// default domain.
  trace::filter filter_by(std::string name) const {
    trace::filter by;
    if (name.starts_with(':')) {
      by.domain = "";
      name.erase(0, 1);
    }
    by.range = std::move(name);
    by.kernel = kernel;
    if (has_device) { by.device = static_cast<std::int32_t>(device); }
    if (has_stream) { by.stream = stream; }
    return by;
  }

  trace::classifier classifier() const {
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
class trace_answers {
 public:
  trace_answers(trace_questions const& asked, std::ostream& out) : asked_(asked), out_(out) {}

  void answer() {
    if (asked_.diff) { return differences(); }
    for (auto const& path : asked_.files) {
      auto const of = read_trace(path);
      asked_.require_any(path, of);
      if (asked_.files.size() > 1 && is_text() && asked_.output.empty()) {
        out_ << "## " << path << "\n\n";
      }
      if (!asked_.perfetto.empty()) { trace::write_chrome(of, asked_.perfetto); }
      auto const rows = trace::select(of, asked_.filter());
      tables(path, of, rows);
      words(of, rows);
      if (is_text()) { lacking(of); }
    }
  }

 private:
  bool is_text() const { return asked_.format == "text"; }

  /// Reports that were not asked for by name are left out where they would be empty.
  void tables(std::string const& path, trace::model const& of, trace::view const& rows) {
    auto const others =
        !asked_.phases.empty() || asked_.explain_overlap || !asked_.perfetto.empty();
    if (asked_.reports.empty() && !others) {
      if (!asked_.range.empty()) { put(path, make("range_kernels", of, rows), false); }
      for (auto const name : default_reports()) { put(path, make(name, of, rows), false); }
    }
    for (auto const& name : asked_.reports) { put(path, make(name, of, rows), true); }
    if (asked_.phases.size() == 2) {
      std::vector<trace::phase> phases;
      for (auto const& name : asked_.phases) {
        phases.push_back({name, trace::select(of, asked_.filter_by(name))});
      }
      put(path, trace::compare_phases(phases[0], phases[1], asked_.classifier()), true);
    }
  }

  trace::table make(std::string_view name, trace::model const& of, trace::view const& rows) const {
    if (name == "range_kernels") { return trace::range_kernels(trace::view{of}, asked_.filter()); }
    if (name == "class_shares") { return trace::class_shares(rows, asked_.classifier()); }
    return trace::make_report(name, rows);
  }

  void words(trace::model const& of, trace::view const& rows) {
    if (asked_.explain_overlap) { say(report::sentences(trace::explain_overlap(rows), of)); }
  }

  void differences() {
    auto const& paths = asked_.files;
    auto const of = read_trace(paths[0]);
    auto const other = read_trace(paths[1]);
    asked_.require_any(paths[0], of);
    asked_.require_any(paths[1], other);
    auto const rows = trace::select(of, asked_.filter());
    auto const other_rows = trace::select(other, asked_.filter());
    auto const time = trace::run_extent(other_rows).length() - trace::run_extent(rows).length();
    auto const changed = trace::difference({rows}, {other_rows}, static_cast<double>(time));
    if (is_text()) { say(report::sentences(changed)); }
    put(paths[1], trace::difference_table(changed), true);
    for (auto const& name : asked_.reports) {
      put(paths[0], make(name, of, rows), true);
      put(paths[1], make(name, other, other_rows), true);
    }
    if (!is_text()) { return; }
    lacking(of);
    lacking(other);
  }

  void say(std::vector<std::string> const& lines) {
    for (auto const& line : lines) { out_ << report::wrapped(line, "", "  "); }
    out_ << '\n';
  }

  void put(std::string const& path, trace::table const& of, bool also_empty) {
    if (of.rows() == 0 && !also_empty) { return; }
    if (asked_.output.empty()) {
      write(out_, of);
      if (is_text()) { out_ << '\n'; }
      return;
    }
    std::ostringstream text;
    write(text, of);
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

  void lacking(trace::model const& of) {
    for (auto const& line : trace::lacks(of)) {
      out_ << report::wrapped("lacking: " + line, "", "  ");
    }
  }

  trace_questions const& asked_;
  std::ostream& out_;
};

}  // namespace

int trace_stats(int argc, char const* const* argv, std::ostream& out, std::ostream& err) {
  auto const complain = [&](std::exception const& error, char const* help, int code) {
    err << "error: " << cli::detail::one_line(error) << help << '\n';
    return code;
  };
  try {
    CLI::App app{"Tables of traces: those of `nsys stats`, and what it does not tell."};
    trace_questions asked;
    asked.add_to(app);
    try {
      app.parse(argc, argv);
    } catch (CLI::CallForHelp const&) {
      out << app.help();
      return cli::ok;
    } catch (CLI::ParseError const& error) {
      return complain(error, "; see --help", cli::bad_input);
    }
    asked.settle(app);
    trace_answers{asked, out}.answer();
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
