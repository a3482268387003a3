// SPDX-License-Identifier: Apache-2.0
/// @file
/// The files of an example: asked for before the run, written after it.
#pragma once

#include "options.hpp"

#include <assay/measure/comparison.hpp>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace assay::cli {

/// Beside `x.csv`: `x.variants.csv`.
std::filesystem::path beside(std::filesystem::path const& path, std::string const& part);

/// Every file that a run will write.
std::vector<std::filesystem::path> outputs(options const& of);

/// Asks every output for a file before the run, so that no result is lost after it.
void require_outputs(options const& of);

/// Writes the files that were asked for, then prints the report unless quiet.
void write_outputs(options const& of, measure::comparison const& all, std::ostream& out);

}  // namespace assay::cli
