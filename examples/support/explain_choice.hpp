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
  std::string trace;  ///< what the names of trace files begin with; empty: none are written

  void add_to(CLI::App& app, std::string const& limits = {}) {
    app.add_flag(
           "--explain,!--no-explain", explain,
           "trace a batch of each variant afterwards and say why they differ (default)" + limits)
        ->group("Trace");
    app.add_option(
           "--trace", trace,
           "write the trace of a batch of each variant to PREFIX.VARIANT.json, for Perfetto, and "
           "where the build has SQLite to .sqlite, as nsys exports it" +
               limits)
        ->type_name("PREFIX")
        ->group("Trace");
  }

  /// Where the trace of a variant goes.
  std::filesystem::path path(std::string variant, std::string const& extension) const {
    std::replace(variant.begin(), variant.end(), '/', '-');
    return trace + "." + variant + extension;
  }

  /// Refuses a prefix at which no file can be written, before the run.
  void check() const {
    if (trace.empty()) { return; }
    try {
      report::require_writable(trace + ".json");
    } catch (report::file_error const& error) {
      throw std::invalid_argument(std::string{error.what()} + "; choose another --trace");
    }
  }
};

}  // namespace assay::cli
