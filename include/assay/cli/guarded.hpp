// SPDX-License-Identifier: Apache-2.0
/// @file
/// `guarded`: runs the body of a program; a refusal or failure becomes one line and an exit code.
/// Needs CLI11.
#pragma once

#include <assay/cli/gate.hpp>

#include <exception>
#include <functional>
#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace assay::cli {

/// The message of an exception and of those nested in it, on one line.
std::string one_line(std::exception const& error);

/// A check for options that name a file: refuses an empty value, as of a variable of the shell that
/// is not set, and a value that looks like an option itself.
std::string no_option(std::string const& path);

/// The same for options that name anything else: refuses an empty value.
std::string not_empty(std::string const& name);

/// Calls `declare()`, parses the command line and returns the exit code of `body()`. `--help` is
/// printed to `out`. Exceptions become one line on `err`: `std::invalid_argument` is bad input, all
/// others are failures of the run.
int guarded(
    CLI::App& app, int argc, char const* const* argv, std::function<int()> const& body,
    std::ostream& out, std::ostream& err, std::function<void()> const& declare = [] {});

}  // namespace assay::cli

#ifndef ASSAY_DECLARED
#include <assay/cli/guarded_definitions.hpp>
#endif
