// SPDX-License-Identifier: Apache-2.0
/// @file
/// The verdict of the referee as text.
#pragma once

#include <assay/referee/charge.hpp>

#include <iosfwd>
#include <string_view>

namespace assay {
namespace referee_detail {

/// The verdict on the primary clock; null without one.
measure::finding const* finding_of(referee_result const& of);

}  // namespace referee_detail

/// One word for a loop: "ACCUSED", the verdict of the comparison, or "NOT ACCUSED" without one.
std::string_view outcome_of(referee_result const& of);

/// A line for each charge; without one the short report of the comparison.
std::ostream& operator<<(std::ostream& out, referee_result const& of);

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/referee/text_definitions.hpp>
#endif
