// SPDX-License-Identifier: Apache-2.0
/// @file
/// `run`: an experiment as a program, with the options, files and exit codes that all experiments
/// share. Needs CLI11 and nlohmann_json (CMake target `assay::cli`). What declares options that
/// `add_option` has not includes `<CLI/CLI.hpp>`.
#pragma once

#include <assay/cli/options.hpp>
#include <assay/measure/comparison.hpp>

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace assay::cli {

/// A program, for its help and for its reports.
struct program {
  std::string description;
  std::string commit = {};  ///< the commit of the source; empty where unknown
};

/// Parses the command line, runs the experiment, writes its reports, and returns the exit code.
///
/// `configure(app)` adds the program's own options. `body(options)` runs the experiment and returns
/// its comparison, or an empty `std::optional` where there is nothing to report (`--list`). It is
/// called when all output files can be written. Exceptions of `body` become one line on `err`:
/// `std::invalid_argument` is bad input, all others are failures of the run.
int run(int argc, char const* const* argv, program const& about,
        std::function<void(CLI::App&)> const& configure,
        std::function<std::optional<measure::comparison>(options const&)> const& body,
        std::ostream& out, std::ostream& err);

/// The same on `std::cout` and `std::cerr`.
int run(int argc, char const* const* argv, program const& about,
        std::function<void(CLI::App&)> const& configure,
        std::function<std::optional<measure::comparison>(options const&)> const& body);

/// Adds an option of the program, or a flag where `value` is a `bool`, and shows its default. The
/// file that declares it needs no CLI11. Compiled mode has it for the types bool, int,
/// std::int64_t, double, std::string, and std::optional of the two integers.
template <class T>
void add_option(CLI::App& to, std::string const& name, T& value, std::string const& help);

}  // namespace assay::cli

#ifndef ASSAY_DECLARED
#include <assay/cli/run_definitions.hpp>
#endif
