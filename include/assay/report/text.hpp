// SPDX-License-Identifier: Apache-2.0
/// @file
/// The full report as text: plain ASCII, at most 100 columns where the names allow.
#pragma once

#include <assay/measure/comparison.hpp>

#include <cstddef>
#include <ostream>
#include <string>

namespace assay::report {

/// The command that repeats a comparison; its seed is added where the command does not fix it.
std::string repeat_line(measure::comparison const& all);

/// Prints the whole report. Leaves the stream's format flags as they are.
void text(std::ostream& out, measure::comparison const& all);

/// Prints at most so many lines of the report, the verdicts first. The last line names what is left
/// out, and the option `--full` of experiments, which prints it.
void text(std::ostream& out, measure::comparison const& all, std::size_t most_lines);

}  // namespace assay::report

namespace assay {

/// The result of `full`: the comparison to print.
struct full_report {
  comparison const& of;
};

/// Makes the full report of a comparison printable: `std::cout << assay::full(found)`. The
/// comparison must outlive the expression.
full_report full(comparison const& found);

std::ostream& operator<<(std::ostream& out, full_report const& all);

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/report/text_definitions.hpp>
#endif
