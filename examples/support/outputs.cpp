// SPDX-License-Identifier: Apache-2.0
#include "outputs.hpp"

#include <assay/core/atomic_file.hpp>
#include <assay/report/csv.hpp>
#include <assay/report/json.hpp>
#include <assay/report/text.hpp>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace assay::cli {

std::filesystem::path beside(std::filesystem::path const& path, std::string const& part) {
  auto result = path;
  return result.replace_filename(path.stem().string() + "." + part + path.extension().string());
}

std::vector<std::filesystem::path> outputs(options const& of) {
  std::vector<std::filesystem::path> paths;
  for (auto const& path : {of.json, of.text}) {
    if (!path.empty()) { paths.push_back(path); }
  }
  if (!of.csv.empty()) {
    paths.insert(paths.end(), {of.csv, beside(of.csv, "variants"), beside(of.csv, "cells")});
  }
  return paths;
}

void require_outputs(options const& of) {
  auto const paths = outputs(of);
  for (auto const& path : paths) {
    if (std::ranges::count(paths, path) > 1) {
      throw std::invalid_argument("two outputs are written to " + path.string() +
                                  "; give each its own path");
    }
    try {
      assay::require_writable(path);
    } catch (assay::file_error const& error) {
      throw std::invalid_argument(std::string{error.what()} + "; choose another path");
    }
  }
}

namespace {

std::string printed(void (*print)(std::ostream&, measure::comparison const&),
                    measure::comparison const& all) {
  std::ostringstream text;
  print(text, all);
  return text.str();
}

}  // namespace

void write_outputs(options const& of, measure::comparison const& all, std::ostream& out) {
  // The files come before the terminal, where a closed pipe ends the process.
  if (!of.text.empty()) { assay::write_atomically(of.text, printed(report::text, all)); }
  if (!of.json.empty()) { assay::write_atomically(of.json, report::json(all)); }
  if (!of.csv.empty()) {
    assay::write_atomically(of.csv, printed(report::csv::findings, all));
    assay::write_atomically(beside(of.csv, "variants"), printed(report::csv::variants, all));
    assay::write_atomically(beside(of.csv, "cells"), printed(report::csv::cells, all));
  }
  if (!of.quiet) { report::text(out, all); }
}

}  // namespace assay::cli
