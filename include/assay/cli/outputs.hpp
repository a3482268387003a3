// SPDX-License-Identifier: Apache-2.0
/// @file
/// The files of an experiment: tried before the run, written after it.
#pragma once

#include <assay/cli/options.hpp>
#include <assay/measure/comparison.hpp>

#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace assay::cli {

/// A file that an option asks for, and the function that makes its text. A file with a `part` goes
/// beside the file of the same option: `x.part.csv` beside `x.csv`.
struct file_format {
  std::string_view option, part, help;
  std::string (*text)(measure::comparison const&, options const&);
};

/// Every format in which a comparison is written.
std::span<file_format const> file_formats();

/// The file beside another one: `x.part.csv` for `x.csv`; `path` itself where `part` is empty.
std::filesystem::path beside(std::filesystem::path path, std::string_view part);

/// The file that an option asks for, or one beside it. Empty where the option is not given.
std::filesystem::path path_of(options const& of, std::string_view option,
                              std::string_view part = {});

/// Tries a file before the run, so that no result is lost after it. Throws where it cannot be
/// written: a failure, and no bad input.
void require_output(std::filesystem::path const& path);

/// Tries every file of a comparison before the run, and adds it to the files of the run.
void require_outputs(options const& of);

/// Adds a file that only the run could name, to those of the run. That it would overwrite another
/// one is a failure then, and no bad input.
void keep_apart(options const& of, std::string const& option, std::filesystem::path const& path);

/// Writes a file that an option asks for, or one beside it; nothing where the option is not given.
void write_output(options const& of, std::string_view option, std::string_view part,
                  std::string_view text);

/// Writes the files that were asked for, then prints the report unless quiet. The files come before
/// the terminal, where a closed pipe ends the process. A file that cannot be written is thrown
/// after all others are written and the report is printed.
void write_outputs(options const& of, measure::comparison const& all, std::ostream& out);

}  // namespace assay::cli

#ifndef ASSAY_DECLARED
#include <assay/cli/outputs_definitions.hpp>
#endif
