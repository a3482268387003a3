// SPDX-License-Identifier: Apache-2.0
/// @file
/// The command line that all examples share: how to measure, where to write, when to fail.
#pragma once

#include "command_line.hpp"
#include "gate.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "parse.hpp"

#include <assay/measure/comparison.hpp>

#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::cli {

/// The commit that the build was told of; empty where it was not.
std::string commit();

namespace detail {

/// Calls `parse` for the value of an option; a refusal is prefixed with the option's name.
template <class Parse>
auto value_of(std::string_view option, Parse const& parse) {
  try {
    return parse();
  } catch (std::invalid_argument const& error) {
    throw std::invalid_argument(std::string{option} + ": " + error.what());
  }
}

/// The message of an exception and of those nested in it, on one line.
std::string one_line(std::exception const& error);

/// Whether an exception, or any nested in it, says that an argument was refused.
bool is_bad_input(std::exception const& error);

}  // namespace detail

/// Parses the command line, runs the experiment, writes its reports, and returns the exit code.
///
/// `configure(line)` adds an example's own options. `body(options const&)` runs it and returns a
/// `measure::comparison`, or an empty `std::optional` of one when there is nothing to report
/// (`--list`). Outputs are asked for before the body runs. Exceptions become one line on `err`:
/// `std::invalid_argument` is bad input, all others are failures of the run.
int run(int argc, char const* const* argv, std::string const& description,
        std::function<void(command_line&)> const& configure,
        std::function<std::optional<measure::comparison>(options const&)> const& body,
        std::ostream& out = std::cout, std::ostream& err = std::cerr);

}  // namespace assay::cli
