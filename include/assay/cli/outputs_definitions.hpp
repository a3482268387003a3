// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to outputs.hpp: the definitions of its functions.
#pragma once

#include <assay/cli/gate.hpp>
#include <assay/cli/options.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/page/page.hpp>
#include <assay/report/csv.hpp>
#include <assay/report/json.hpp>
#include <assay/report/junit.hpp>
#include <assay/report/markdown.hpp>
#include <assay/report/text.hpp>

#include <array>
#include <filesystem>
#include <ostream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::cli {

namespace detail {

/// The output of a printing function, as a string.
template <void (*Print)(std::ostream&, measure::comparison const&)>
std::string printed(measure::comparison const& all, options const&) {
  std::ostringstream text;
  Print(text, all);
  return text.str();
}

}  // namespace detail

ASSAY_INLINE std::span<file_format const> file_formats() {
  // A new format is one more row.
  static constexpr std::array formats{
      file_format{"--json", "", "write everything as JSON",
                  [](measure::comparison const& all, options const&) { return report::json(all); }},
      file_format{"--csv", "", "write findings to X.csv, X.variants.csv and X.cells.csv beside it",
                  detail::printed<report::csv::findings>},
      file_format{"--csv", "variants", "", detail::printed<report::csv::variants>},
      file_format{"--csv", "cells", "", detail::printed<report::csv::cells>},
      file_format{"--text", "", "write the report, as --full prints it",
                  detail::printed<report::text>},
      file_format{
          "--html", "", "write a page with charts and tables: one file, which loads nothing",
          [](measure::comparison const& all, options const&) { return report::page({{all}}); }},
      file_format{"--markdown", "", "write Markdown for a pull request",
                  [](measure::comparison const& all, options const&) {
                    return report::markdown(all, nullptr);
                  }},
      file_format{"--junit", "", "write JUnit XML: a test case for each contrast",
                  [](measure::comparison const& all, options const& of) {
                    return report::junit(
                        {&all}, [&](measure::comparison const& in, measure::finding const& each) {
                          return met_by(in, each, of.fail_if);
                        });
                  }},
  };
  return formats;
}

ASSAY_INLINE std::filesystem::path beside(std::filesystem::path path, std::string_view part) {
  if (part.empty()) { return path; }
  return path.replace_filename(
      concat({path.stem().string(), ".", part, path.extension().string()}));
}

ASSAY_INLINE std::filesystem::path path_of(options const& of, std::string_view option,
                                           std::string_view part) {
  auto const found = of.files.find(option);
  return found == of.files.end() ? std::filesystem::path{} : beside(found->second, part);
}

ASSAY_INLINE void require_output(std::filesystem::path const& path) {
  if (path.empty()) { return; }
  try {
    require_writable(path);
  } catch (file_error const& error) {
    throw std::runtime_error(std::string{error.what()} + "; choose another path");
  }
}

ASSAY_INLINE void require_outputs(options const& of) {
  for (auto const& format : file_formats()) {
    auto const path = path_of(of, format.option, format.part);
    if (path.empty()) { continue; }
    of.later->files.write(std::string{format.option}, path);
    require_output(path);
  }
}

ASSAY_INLINE void keep_apart(options const& of, std::string const& option,
                             std::filesystem::path const& path) {
  if (path.empty()) { return; }
  try {
    of.later->files.write(option, path);
  } catch (std::invalid_argument const& error) { throw std::runtime_error(error.what()); }
}

ASSAY_INLINE void write_output(options const& of, std::string_view option, std::string_view part,
                               std::string_view text) {
  auto const path = path_of(of, option, part);
  if (!path.empty()) { write_atomically(path, text); }
}

ASSAY_INLINE void write_outputs(options const& of, measure::comparison const& all,
                                std::ostream& out) {
  for (auto const& format : file_formats()) {
    if (path_of(of, format.option).empty()) { continue; }
    of.later->keep_failure(
        [&] { write_output(of, format.option, format.part, format.text(all, of)); });
  }
  if (!of.quiet) { of.full ? report::text(out, all) : report::text(out, all, screen_lines); }
  of.later->end(out, of.quiet);
}

}  // namespace assay::cli
