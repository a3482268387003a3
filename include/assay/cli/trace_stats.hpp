// SPDX-License-Identifier: Apache-2.0
/// @file
/// `trace_stats`: the tables of traces in files, as a program. Needs CLI11, nlohmann_json and
/// SQLite.
#pragma once

#include <assay/core/requirements.hpp>

#include <iosfwd>

namespace assay::cli {

/// The program; returns its exit code, one of `exit_code`. Errors are one line on `err`.
int trace_stats(int argc, char const* const* argv, std::ostream& out, std::ostream& err);

}  // namespace assay::cli

#ifndef ASSAY_DECLARED
#include <assay/cli/trace_stats_definitions.hpp>
#endif
