// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of trace_stats, and the part of a trace that they choose.
#pragma once

#include "answers.hpp"
#include "select.hpp"

#include <assay/cli/parse.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/report/explanation.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/view.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::examples {

/// The names of ranges, most frequent first.
inline std::vector<std::string> names_of_ranges(trace::model const& of) {
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
       json = false, answers = false;
  answer_options answer;

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
    app.add_flag("--answers", answers,
                 "answer five questions about a transformer: clocks, kernels and their counts in "
                 "one pass, products, softmax against products");
    auto const ranges = [&](char const* option, std::string& to, char const* what) {
      app.add_option(option, to, std::string{"with --answers: the ranges of "} + what + "; a glob")
          ->capture_default_str();
    };
    ranges("--forward", answer.forward, "forward passes");
    ranges("--step", answer.step, "steps of training");
    ranges("--softmax", answer.softmax, "the softmax of attention");
    ranges("--attention", answer.attention, "attention");
    app.add_option("--warm-ups", answer.warm_ups, "with --answers: repetitions to leave out first")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--head-size", answer.head_size, "with --answers: elements of a head")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
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
    cli::choose("--format", "format", format, {"text", "csv", "json"});
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
    for (auto const* option :
         {"--forward", "--step", "--softmax", "--attention", "--warm-ups", "--head-size"}) {
      if (app.count(option) != 0 && !answers) {
        throw std::invalid_argument(std::string{option} + " goes with --answers");
      }
    }
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
                            std::string const& what, std::string const& other,
                            std::vector<std::string> const& known) {
      std::string there = "; it has " + other + ": ";
      constexpr std::size_t most = 8;
      for (std::size_t i = 0; i < std::min(most, known.size()); ++i) {
        there += (i == 0 ? "" : ", ") + known[i];
      }
      if (known.size() > most) { there += ", ..."; }
      throw std::invalid_argument(option + " " + value + ": " + path + " has no " + what +
                                  (known.empty() ? ", and none at all" : there));
    };
    for (auto const& name : std::vector<std::string>{range, phases.empty() ? "" : phases[0],
                                                     phases.size() < 2 ? "" : phases[1]}) {
      if (name.empty() || has_range(of, filter_by(name, of))) { continue; }
      refuse(name == range ? "--range" : "--phases", "'" + name + "'", "range of that name",
             "ranges", names_of_ranges(of));
    }
    row_filter by;
    by.kernel = kernel;
    if (!kernel.empty() && select(of, by).of().kernels.empty()) {
      std::set<std::string> names;
      for (auto const& each : of.kernels) {
        names.insert(report::detail::short_name(of.strings[each.name]));
      }
      refuse("--kernel", "'" + kernel + "'", "kernel with that in its name", "kernels",
             {names.begin(), names.end()});
    }
    std::set<std::int64_t> devices, streams;
    trace::each_device_table(of, [&](auto const& rows) {
      for (auto const& each : rows) {
        devices.insert(each.where.device);
        streams.insert(each.where.stream);
      }
    });
    auto const require = [&](std::string const& what, std::string const& where, bool given,
                             std::int64_t value, std::set<std::int64_t> const& known) {
      if (!given || known.contains(value)) { return; }
      std::vector<std::string> names;
      for (auto const each : known) { names.push_back(std::to_string(each)); }
      auto const number = std::to_string(value);
      refuse("--" + what, number, "work " + where + " " + what + " " + number, "work " + where,
             names);
    };
    require("device", "on", has_device, device, devices);
    require("stream", "in", has_stream, stream, streams);
  }

  row_filter filter(trace::model const& of) const { return filter_by(range, of); }

  /// The same for another range: its name, or `domain:name` as reports print it. Both may have
  /// colons of their own, so that each colon is tried.
  row_filter filter_by(std::string const& name, trace::model const& of) const {
    row_filter by;
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

  static bool has_range(trace::model const& of, row_filter const& by) {
    return !outermost_ranges(of, by).empty();
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

}  // namespace assay::examples
