// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to traces.hpp: the definitions of its functions.
#pragma once

#include <assay/chrome/chrome.hpp>
#include <assay/cli/options.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/cli/traces.hpp>
#include <assay/cli/tracing.hpp>
#include <assay/core/concat.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/view.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::cli {

ASSAY_INLINE std::filesystem::path variant_path(std::filesystem::path const& of,
                                                std::string variant, std::string const& extension) {
  std::string_view const kept = "._-";
  std::replace_if(
      variant.begin(), variant.end(),
      [&](unsigned char each) {
        return std::isalnum(each) == 0 && kept.find(static_cast<char>(each)) == kept.npos;
      },
      '-');
  auto const given = of.extension() == extension;
  auto const stem = given ? of.stem().string() : of.filename().string();
  return std::filesystem::path{of}.replace_filename(concat({stem, ".", variant, extension}));
}

ASSAY_INLINE void print_tables(std::ostream& out, trace::view const& rows) {
  for (auto const name : trace::default_reports()) {
    auto const made = trace::make_report(name, rows);
    if (made.rows() == 0) { continue; }
    report::text(out, made);
    out << '\n';
  }
}

ASSAY_INLINE traces::traces(tracing by) : by_(by) {}

ASSAY_INLINE void traces::add_to(CLI::App& app, std::string const& more) {
  auto const about = [&](std::string const& what) { return what + more + limits(); };
  app.option_defaults()->group("Trace");
  app.add_option("--trace", trace_,
                 about("write the trace of a batch of each variant, for Perfetto: X.json gives "
                       "X.VARIANT.json"))
      ->type_name("X.json");
  app.add_option("--sqlite", sqlite_,
                 about("the same as nsys exports it, X.VARIANT.sqlite, for trace_stats"))
      ->type_name("X.sqlite");
  app.add_flag("--stats", stats_, about("print the tables of each of those traces"));
  app.option_defaults()->group("Experiment");
}

ASSAY_INLINE void traces::check() const {
  if (!wanted()) { return; }
  auto const refuse = [](std::string const& what, std::string const& why) {
    throw std::invalid_argument(concat({what, ": this program was built without ", why}));
  };
  if (by_.record == nullptr) {
    refuse(asked(), "CUPTI, which records traces: build it with a CUDA toolkit that has it");
  }
  if (!sqlite_.empty() && by_.write_sqlite == nullptr) {
    refuse("--sqlite " + sqlite_,
           "SQLite 3: install its development files and build it again, or use --trace");
  }
  if (!trace_.empty()) { require_output(variant_path(trace_, "variant", ".json")); }
  if (!sqlite_.empty()) { require_output(variant_path(sqlite_, "variant", ".sqlite")); }
}

ASSAY_INLINE void traces::check_host() const {
  if (!wanted()) { return; }
  throw std::invalid_argument(asked() +
                              ": traces are of work on a GPU, and this runs on the host: leave "
                              "it out, or run without --host where there is a GPU");
}

ASSAY_INLINE void traces::tell(trace::model const& made, std::string const& variant,
                               options const& given) const {
  auto const write = [&](char const* option, std::string const& of, char const* extension,
                         auto const& to) {
    if (of.empty()) { return; }
    given.later->keep_failure([&] {
      auto const path = variant_path(of, variant, extension);
      keep_apart(given, concat({option, " of ", variant}), path);
      to(made, path);
    });
  };
  write("--trace", trace_, ".json", trace::write_chrome);
  write("--sqlite", sqlite_, ".sqlite", by_.write_sqlite);
  if (!stats_) { return; }
  std::ostringstream out;
  out << "## " << variant << "\n\n";
  print_tables(out, trace::view{made});
  for (auto const& line : trace::loss_notes(made)) { out << "lacking: " << line << '\n'; }
  given.later->text += out.str();
}

ASSAY_INLINE std::string traces::trace_file(std::string const& variant) const {
  return trace_.empty() ? "" : variant_path(trace_, variant, ".json").filename().string();
}

ASSAY_INLINE void traces::record(std::function<void()> const& work, std::string const& variant,
                                 options const& given) const {
  if (wanted()) { tell(by_.record(work), variant, given); }
}

ASSAY_INLINE std::string traces::limits() const {
  return by_.record != nullptr ? "" : "; not in this build, which has no CUPTI";
}

ASSAY_INLINE std::string traces::asked() const {
  if (!trace_.empty()) { return "--trace " + trace_; }
  return sqlite_.empty() ? "--stats" : "--sqlite " + sqlite_;
}

}  // namespace assay::cli
