// SPDX-License-Identifier: Apache-2.0
/// @file
/// `traced_record`: an explanation in short, for the record of its comparison.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/stats/five_numbers.hpp>
#include <assay/trace/explanation.hpp>

#include <cstddef>
#include <string>

namespace assay::trace {
class view;
}

namespace assay::report {

/// The spans that the record keeps of the batch of one variant.
inline constexpr std::size_t kept_spans = 1500;

/// The longest operations and ranges of a trace, at most `most` of them; the result says how many
/// others there are.
measure::timeline timeline_of(trace::view const& rows, std::size_t most = kept_spans);

/// An interval, and a part of a difference, as a record keeps them.
measure::traced_time traced_time_of(stats::interval const& of);
measure::traced_part traced_part_of(trace::change const& of);

/// An explanation in short, for `comparison::traced`: `control` and `variant` are its variants'
/// indices there, and the files are the traces that were written for Perfetto, or empty. The
/// explanation must have traces: `untraced` is empty.
measure::traced_difference traced_record(trace::explanation const& of, std::size_t control,
                                         std::size_t variant, std::string control_file = {},
                                         std::string variant_file = {});

}  // namespace assay::report

#ifndef ASSAY_DECLARED
#include <assay/report/traced_definitions.hpp>
#endif
