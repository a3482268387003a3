// SPDX-License-Identifier: Apache-2.0
/// @file
/// The exit code of a comparison, on which scripts and CI jobs may rely.
#pragma once

#include <assay/measure/comparison.hpp>

#include <string>
#include <vector>

namespace assay::cli {

/// The exit codes of a program.
enum exit_code : int {
  ok = 0,
  wrong_answer = 1,   ///< a variant computed a wrong result; nothing of it was timed
  bad_input = 2,      ///< an option or a value; nothing was run
  gate_holds = 3,     ///< a condition of --fail-if holds
  failed = 4,         ///< the device, memory, or a file failed during the run
  gate_unproven = 5,  ///< --fail-if, and a guard forbids the answer; or --require-checks
};

inline constexpr auto exit_code_help =
    "Exit codes: 0 done; 1 a variant computed a wrong answer; 2 bad input, nothing was run; "
    "3 a condition of --fail-if holds; 4 the run failed (device, memory, file); "
    "5 --fail-if was asked, but a guard forbids a verdict (UNPROVEN), or --require-checks, and "
    "results of a variant are not checked.";

std::vector<std::string> const& gate_names();

/// True if one of the conditions is about a difference that matters. The comparison then runs until
/// its interval lies in the margin or beyond it (`options::run_until_margin`).
bool asks_for_size(std::vector<std::string> const& fail_if);

/// True if a finding of `all` meets a condition of --fail-if. Only primary findings count. A
/// difference counts only if its whole interval lies beyond the margin, so a true difference inside
/// the margin meets a condition with a chance of at most alpha. Interactions have no direction:
/// they may be `different`, but neither `slower` nor `faster`.
bool meets(measure::comparison const& all, measure::finding const& found,
           std::string const& condition);

/// The first of the conditions that a finding of `all` meets; empty if it meets none.
std::string met_by(measure::comparison const& all, measure::finding const& found,
                   std::vector<std::string> const& fail_if);

/// True if the comparison ended before a verdict was possible: a variant threw, or no analysis was
/// made.
bool has_failed(measure::comparison const& all);

/// True if the comparison ended before its first cell because results of a variant are not checked.
bool lacks_checks(measure::comparison const& all);

/// A wrong answer comes first, then checks that are required and missing, then a failure, then the
/// conditions, then a gate that could not be answered. Without conditions an unproven result is a
/// result: it is told, and the exit code is 0.
exit_code judge(measure::comparison const& all, std::vector<std::string> const& fail_if);

/// The worse of the answers to two comparisons: a wrong answer is worst, then a failure, then a
/// condition that holds.
exit_code worse(exit_code one, exit_code other);

}  // namespace assay::cli

#ifndef ASSAY_DECLARED
#include <assay/cli/gate_definitions.hpp>
#endif
