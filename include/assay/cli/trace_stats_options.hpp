// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of `trace_stats`, and the part of a trace that they choose. Needs CLI11.
#pragma once

#include <assay/cli/guarded.hpp>
#include <assay/cli/parse.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/nsys/answers.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/nsys/select.hpp>
#include <assay/profile/step_options.hpp>
#include <assay/report/trace_words.hpp>
#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/top_kernels.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::cli {

namespace detail {

/// Refuses the value of an option that chooses nothing of a trace, naming what there is.
[[noreturn]] inline void refuse_choice(std::string const& choice, std::string const& path,
                                       std::string const& lacks, std::string const& kind,
                                       std::vector<std::string> const& known) {
  constexpr std::size_t most = 8;
  std::string there = known.empty() ? ", and none at all" : concat({"; it has ", kind, ": "});
  for (std::size_t i = 0; i < std::min(most, known.size()); ++i) {
    there += (i == 0 ? "" : ", ") + known[i];
  }
  if (known.size() > most) { there += ", ..."; }
  throw std::invalid_argument(concat({choice, ": ", path, " has no ", lacks, there}));
}

inline bool is_trace_report(std::string const& name) {
  auto const named = [&](auto const& some) {
    return std::ranges::any_of(some, [&](auto const& each) { return each.name == name; });
  };
  return named(trace::reports()) || named(trace::own_reports()) || name == "range_kernels" ||
         name == "what_if";
}

}  // namespace detail

/// The options of the command line.
struct trace_stats_options {
  std::vector<std::string> files, reports, classes, phases;
  std::string format = "text", range, kernel, output, perfetto, html;
  std::optional<std::int32_t> device;
  std::optional<std::uint32_t> stream;
  bool explain_overlap = false, diff = false, csv = false, json = false, answers = false;
  bool ranks = false, all_threads = false;
  trace::answer_options answer;
  profile::step_options steps;

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
    app.add_flag("--all-threads", all_threads,
                 "with --range: also what other threads launched in the time of the ranges, as the "
                 "backward pass of PyTorch")
        ->needs(app.get_option("--range"));
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
    app.add_flag("--diff", diff,
                 "say what changed from the first of two FILEs to the second; with --range, in an "
                 "instance of the range");
    steps.add_to(app);
    app.add_option("--html", html, "with --diff --range, or --ranks: write a page with charts")
        ->type_name("OUT.html");
    auto* const questions = app.add_flag(
        "--answers", answers,
        "answer five questions about a transformer: clocks, kernels and their counts in one pass, "
        "products, softmax against products");
    auto const of_answers = [&](char const* option, auto& to, char const* what) {
      return app.add_option(option, to, what)->needs(questions)->capture_default_str();
    };
    of_answers("--forward", answer.forward, "the ranges of forward passes; a glob");
    of_answers("--step", answer.step, "the ranges of steps of training; a glob");
    of_answers("--softmax", answer.softmax, "the ranges of the softmax of attention; a glob");
    of_answers("--attention", answer.attention, "the ranges of attention; a glob");
    of_answers("--warm-ups", answer.warm_ups, "repetitions to leave out first")
        ->check(CLI::Range(0, 1'000'000));
    of_answers("--head-size", answer.head_size, "elements of a head")->check(CLI::Range(1, 65536));
    add_ranks_to(app);
    app.add_option("--perfetto", perfetto, "write the trace as JSON for Perfetto")
        ->type_name("OUT.json");
    std::string known = "Reports:";
    for (auto const& each : trace::reports()) { known.append(" ").append(each.name); }
    known += "; of assay alone:";
    for (auto const& each : trace::own_reports()) { known.append(" ").append(each.name); }
    for (auto* const each : app.get_options()) {
      if (!each->check_lname("fail-if")) { each->check(not_empty); }  // it says what to write
    }
    app.footer(concat(
        {known, "; what_if; with --range also range_kernels.\nExit codes: 0 done; 2 bad input; ",
         "3 a condition of --fail-if holds; 4 failed (memory, file); 5 --fail-if was asked, "
         "but the steps are too few for an answer."}));
  }

  void validate() {
    if (csv) { format = "csv"; }
    if (json) { format = "json"; }
    choose("--format", "format", format, {"text", "csv", "json"});
    take_reports_from_files();
    leave_out_repeated(reports);
    if (!phases.empty() && phases.size() != 2) {
      throw std::invalid_argument("--phases names two ranges, as in --phases forward,step");
    }
    auto const of_files = [&](char const* option, bool given, std::size_t count) {
      if (!given || files.size() == count) { return; }
      throw std::invalid_argument(
          concat({option, " goes with ", count == 1 ? "one FILE" : "two FILEs", ", not ",
                  std::to_string(files.size())}));
    };
    of_files("--diff", diff, 2);
    steps.validate(diff, range, ranks ? "" : html);
    if (ranks && !perfetto.empty()) {
      throw std::invalid_argument("--perfetto does not go with --ranks");
    }
    of_files("--perfetto", !perfetto.empty(), 1);
    if (!diff) { leave_out_repeated(files); }
    (void)files_of_run();
    for (auto const& name : reports) {
      if (name == "range_kernels" && range.empty()) {
        throw std::invalid_argument("--report 'range_kernels' goes with --range");
      }
      require_report(name);
    }
    (void)classifier();
  }

  /// Refuses what chooses nothing of a trace.
  void require_any(std::string const& path, trace::model const& of) const {
    require_range("--range", range, path, of);
    for (auto const& name : phases) { require_range("--phases", name, path, of); }
    require_passes(path, of);
    require_kernel(concat({"--kernel '", kernel, "'"}), kernel, path, of);
    for (auto const& each : classes) {
      require_kernel("--class " + each, each.substr(each.find('=') + 1), path, of);
    }
    std::set<std::int64_t> devices, streams;
    trace::each_device_table(of, [&](auto const& rows) {
      for (auto const& each : rows) {
        devices.insert(each.where.device);
        streams.insert(each.where.stream);
      }
    });
    auto const require = [&](std::string const& what, std::string const& work, auto const& value,
                             std::set<std::int64_t> const& known) {
      if (!value || known.contains(*value)) { return; }
      std::vector<std::string> names;
      for (auto const each : known) { names.push_back(std::to_string(each)); }
      auto const place = concat({what, " ", std::to_string(*value)});
      detail::refuse_choice("--" + place, path, concat({work, " ", place}), work, names);
    };
    require("device", "work on", device, devices);
    require("stream", "work in", stream, streams);
  }

  /// The traces, and the files that options name. Throws `std::invalid_argument` for an output that
  /// would overwrite a trace or another output.
  run_files files_of_run() const {
    run_files all;
    for (auto const& file : files) { all.read("the trace", file); }
    for (auto const& [option, path] :
         {std::pair{"--perfetto", &perfetto}, {"--html", &html}, {"--junit", &steps.junit}}) {
      if (!path->empty()) { all.write(option, *path); }
    }
    return all;
  }

  trace::row_filter filter(trace::model const& of) const { return filter_by(range, of); }

  /// The same for another range: its name, or `domain:name` as reports print it. Both may have
  /// colons of their own, so that each colon is tried.
  trace::row_filter filter_by(std::string const& name, trace::model const& of) const {
    trace::row_filter by{.range = name, .device = device, .stream = stream, .kernel = kernel};
    if (name.empty() || takes_any(by, of)) { return by; }
    auto split_by = by;
    for (auto at = name.find(':'); at != std::string::npos; at = name.find(':', at + 1)) {
      split_by.domain = name.substr(0, at);
      split_by.range = name.substr(at + 1);
      if (takes_any(split_by, of)) { return split_by; }
    }
    return by;
  }

  trace::kernel_classifier classifier() const {
    auto made = trace::default_classes();
    for (auto each = classes.rbegin(); each != classes.rend(); ++each) {
      auto const split = each->find('=');
      if (split == 0 || split == std::string::npos || split + 1 == each->size()) {
        throw std::invalid_argument(
            concat({"--class ", *each, ": write NAME=GLOB, as in mine=*my_kernel*"}));
      }
      made = made.with(each->substr(0, split), each->substr(split + 1));
    }
    return made;
  }

 private:
  static void require_report(std::string const& name) {
    if (detail::is_trace_report(name)) { return; }
    trace::model const none;
    try {
      (void)trace::make_report(name, none);
    } catch (std::invalid_argument const& error) {
      throw std::invalid_argument(
          concat({error.what(), ", what_if, and with --range range_kernels"}));
    }
  }

  void add_ranks_to(CLI::App& app) {
    auto* const matched = app.add_flag(
        "--ranks", ranks,
        "match the collectives of ranks, each a device of a process in any of the FILEs: who came "
        "late and why, waiting and moving");
    auto* const between = app.get_option("--diff");
    for (auto const* other : {"--answers", "--phases", "--explain-overlap", "--class"}) {
      matched->excludes(app.get_option(other));
      between->excludes(app.get_option(other));
    }
    matched->excludes(between)->excludes(app.get_option("--report"));
  }

  static void leave_out_repeated(std::vector<std::string>& names) {
    std::set<std::string> seen;
    std::erase_if(names, [&](auto const& each) { return !seen.insert(each).second; });
  }

  /// `--report NAME NAME` leaves the second among the files: there is none of that name, as a rule.
  void take_reports_from_files() {
    if (reports.empty()) { return; }
    auto const first = std::stable_partition(files.begin(), files.end(), [](auto const& name) {
      return !detail::is_trace_report(name) || std::filesystem::exists(name);
    });
    reports.insert(reports.end(), first, files.end());
    files.erase(first, files.end());
    if (files.empty()) { throw std::invalid_argument("name a FILE beside the reports"); }
  }

  void require_kernel(std::string const& choice, std::string const& names, std::string const& path,
                      trace::model const& of) const {
    trace::glob const wanted{names};
    std::set<std::string> known;
    for (auto const& each : of.kernels) {
      auto const name = of.strings[each.name];
      if (wanted.matches(name)) { return; }
      known.insert(report::shortened(trace::short_kernel_name(name)));
    }
    if (names.empty()) { return; }
    detail::refuse_choice(choice, path, "kernel with that in its name", "kernels",
                          {known.begin(), known.end()});
  }

  /// Ranges that were named for `--answers`, and ranges for the warm-ups to leave out.
  void require_passes(std::string const& path, trace::model const& of) const {
    trace::answer_options const usual;
    auto const any = [&](std::string const& name) {
      trace::row_filter by{.range = name};
      return !name.empty() && takes_any(by, of);
    };
    auto const require = [&](std::string const& option, std::string const& name,
                             std::string const& unchanged) {
      if (name.empty() || name == unchanged || any(name)) { return; }
      detail::refuse_choice(concat({option, " '", name, "'"}), path, "range of that name", "ranges",
                            range_names(of));
    };
    require("--forward", answer.forward, usual.forward);
    require("--step", answer.step, usual.step);
    require("--softmax", answer.softmax, usual.softmax);
    require("--attention", answer.attention, usual.attention);
    if (answer.warm_ups == 0 || any(answer.forward) || any(answer.step)) { return; }
    detail::refuse_choice("--warm-ups " + std::to_string(answer.warm_ups), path,
                          "range that names a pass", "ranges", range_names(of));
  }

  /// True if a filter takes ranges. Where one of these ends on another thread, the filter takes
  /// what all threads do in their time: they belong to no one thread.
  bool takes_any(trace::row_filter& by, trace::model const& of) const {
    by.any_thread = true;
    auto const found = trace::outermost_ranges(of, by);
    by.any_thread = all_threads || std::ranges::any_of(found, [&](auto row) {
                      return !trace::on_one_thread(of.ranges[row]);
                    });
    return !found.empty();
  }

  /// The names of ranges, the most frequent first.
  static std::vector<std::string> range_names(trace::model const& of) {
    std::map<std::string, int> counts;
    for (auto const& each : of.ranges) { ++counts[std::string{of.strings[each.name]}]; }
    std::vector<std::string> names;
    for (auto const& [known, count] : counts) { names.push_back(known); }
    std::ranges::stable_sort(names, std::greater{}, [&](auto const& each) { return counts[each]; });
    return names;
  }

  void require_range(std::string const& option, std::string const& name, std::string const& path,
                     trace::model const& of) const {
    if (name.empty() || !trace::outermost_ranges(of, filter_by(name, of)).empty()) { return; }
    detail::refuse_choice(concat({option, " '", name, "'"}), path, "range of that name", "ranges",
                          range_names(of));
  }
};

}  // namespace assay::cli
