// SPDX-License-Identifier: Apache-2.0
/// @file
/// Whether an example says why its variants differ, and where it writes their traces.
#pragma once

#include <assay/report/file.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace assay::cli {

/// What the command line says of explaining and tracing.
struct explain_choice {
  bool explain = true;
  bool stats = false;            ///< print the tables of each trace
  std::filesystem::path trace;   ///< JSON; variants are named before the extension. Empty: none
  std::filesystem::path sqlite;  ///< the same, in the schema of nsys' exports

  void add_to(CLI::App& app, std::string const& limits = {}) {
    auto const group = "Trace";
    app.add_flag(
           "--explain,!--no-explain", explain,
           "trace a batch of each variant afterwards and say why they differ (default)" + limits)
        ->group(group);
    app.add_option("--trace", trace,
                   "write the trace of a batch of each variant, for Perfetto: X.json gives "
                   "X.VARIANT.json" +
                       limits)
        ->type_name("X.json")
        ->group(group);
    app.add_option("--sqlite", sqlite,
                   "the same as nsys exports it, X.VARIANT.sqlite, for trace_stats" + limits)
        ->type_name("X.sqlite")
        ->group(group);
    app.add_flag("--stats", stats, "print the tables of each of those traces" + limits)
        ->group(group);
  }

  /// Whether traces are to be had beside what is explained.
  bool wants_traces() const { return stats || !trace.empty() || !sqlite.empty(); }

  /// The option that asks for traces, with its value; empty where none does.
  std::string asked() const {
    if (!trace.empty()) { return "--trace " + trace.string(); }
    if (!sqlite.empty()) { return "--sqlite " + sqlite.string(); }
    return stats ? "--stats" : "";
  }

  /// For the host half of an experiment, which has no device to trace.
  void check_host() const {
    if (!wants_traces()) { return; }
    throw std::invalid_argument(asked() +
                                ": traces are of work on a GPU, and this runs on the host: leave "
                                "it out, or run without --host where there is a GPU");
  }

  /// Where the trace of a variant goes.
  static std::filesystem::path path(std::filesystem::path const& of, std::string variant,
                                    std::string const& extension) {
    std::replace(variant.begin(), variant.end(), '/', '-');
    auto const given = of.extension() == extension;
    auto const stem = given ? of.stem().string() : of.filename().string();
    return std::filesystem::path{of}.replace_filename(stem + "." + variant + extension);
  }

  /// Refuses paths at which no file can be written, before the run.
  void check() const {
    require("--trace", trace, ".json");
    require("--sqlite", sqlite, ".sqlite");
  }

 private:
  static void require(std::string const& option, std::filesystem::path const& of,
                      std::string const& extension) {
    if (of.empty()) { return; }
    try {
      report::require_writable(path(of, "variant", extension));
    } catch (report::file_error const& error) {
      throw std::invalid_argument(std::string{error.what()} + "; choose another " + option);
    }
  }
};

}  // namespace assay::cli
