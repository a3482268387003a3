// SPDX-License-Identifier: Apache-2.0
/// @file
/// The command-line options for traces and for explaining variants.
#pragma once

#include "command_line.hpp"

#include <assay/core/atomic_file.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::cli {

/// The command-line options for traces.
struct trace_choice {
  bool stats = false;            ///< print the tables of each trace
  std::filesystem::path trace;   ///< JSON; variants are named before the extension. Empty: none
  std::filesystem::path sqlite;  ///< the same, in the schema of nsys' exports

  void add_to(command_line& line, std::string const& limits = {}) {
    line.group("Trace");
    line.optional("--trace", trace,
                  "write the trace of a batch of each variant, for Perfetto: X.json gives "
                  "X.VARIANT.json" +
                      limits,
                  "X.json");
    line.optional("--sqlite", sqlite,
                  "the same as nsys exports it, X.VARIANT.sqlite, for trace_stats" + limits,
                  "X.sqlite");
    line.flag("--stats", stats, "print the tables of each of those traces" + limits);
  }

  /// True if the command line asks for traces.
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

  /// The file for the trace of a variant. Characters that shells and file systems treat specially
  /// are replaced in the variant's name.
  static std::filesystem::path path(std::filesystem::path const& of, std::string variant,
                                    std::string const& extension) {
    std::string_view const kept = "._-";
    std::replace_if(
        variant.begin(), variant.end(),
        [&](unsigned char each) {
          return std::isalnum(each) == 0 && kept.find(static_cast<char>(each)) == kept.npos;
        },
        '-');
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
      assay::require_writable(path(of, "variant", extension));
    } catch (assay::file_error const& error) {
      throw std::invalid_argument(std::string{error.what()} + "; choose another " + option);
    }
  }
};

/// The command-line options for traces and for explaining variants.
struct explain_choice : trace_choice {
  bool explain = true;  ///< unless the command line says otherwise

  void add_to(command_line& line, std::string const& limits = {}) {
    line.group("Trace");
    line.flag("--explain,!--no-explain", explain,
              std::string{"trace a batch of each variant afterwards and say why they differ ("} +
                  (explain ? "default)" : "not by default)") + limits);
    trace_choice::add_to(line, limits);
  }
};

}  // namespace assay::cli
