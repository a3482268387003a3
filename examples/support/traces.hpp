// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writing and printing the traces that a command line asks for.
#pragma once

#include "trace_choice.hpp"

#include <assay/trace/model.hpp>

#include <string>

namespace assay::cli {

/// Refuses, before the run, what this build cannot write, and paths at which nothing can be.
void check_traces(trace_choice const& of);

/// Writes a variant's trace where it was asked for, and prints its tables unless `quiet`. Not
/// called in a build without CUPTI.
void tell_trace(trace_choice const& chosen, trace::model const& made, std::string const& variant,
                bool quiet);

}  // namespace assay::cli
