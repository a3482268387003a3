// SPDX-License-Identifier: Apache-2.0
/// @file
/// The tables of a trace in a file, as a program: options, formats, exit codes.
#pragma once

#include <ostream>

namespace assay::examples {

/// The program; returns its exit code. Errors are one line on `err`.
int trace_stats(int argc, char const* const* argv, std::ostream& out, std::ostream& err);

}  // namespace assay::examples
