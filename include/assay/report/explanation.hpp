// SPDX-License-Identifier: Apache-2.0
/// @file
/// The explanation of a difference between two variants, as text.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/trace/explanation.hpp>

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace assay::report {

/// Gives the bound, its reason and the deciding numbers in one sentence.
std::string bound_sentence(trace::work_bound const& of);

/// The explanation, one sentence or more a line: the largest parts of the difference first, then
/// the bound of each variant, and the losses of the traces. Without a trace, the host's time of an
/// item stands in the place of parts.
std::vector<std::string> sentences(trace::explanation const& of, std::size_t most = 3);

/// The question and its answer, for `comparison::reasons`.
measure::answer reason(trace::explanation const& of, std::size_t most = 3);

/// Prints the sentences, and the metrics of both variants.
void text(std::ostream& out, trace::explanation const& of);

}  // namespace assay::report

namespace assay::trace {

/// Prints the report.
std::ostream& operator<<(std::ostream& out, explanation const& of);

}  // namespace assay::trace

#ifndef ASSAY_DECLARED
#include <assay/report/explanation_definitions.hpp>
#endif
