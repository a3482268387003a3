// SPDX-License-Identifier: Apache-2.0
/// @file
/// The verdict of the referee as text.
#pragma once

#include <assay/referee/charge.hpp>
#include <assay/report/format.hpp>
#include <assay/report/short_text.hpp>
#include <assay/report/words.hpp>

#include <algorithm>
#include <ostream>
#include <string_view>

namespace assay {
namespace referee_detail {

/// The verdict on the primary clock; null without one.
inline measure::finding const* finding_of(referee_result const& of) {
  if (!of.timed) { return nullptr; }
  auto const& all = of.timed->findings;
  auto const found =
      std::find_if(all.begin(), all.end(), [](auto const& one) { return one.primary; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace referee_detail

/// One word for a loop: "ACCUSED", the verdict of the comparison, or "NOT ACCUSED" without one.
inline std::string_view outcome_of(referee_result const& of) {
  if (of.is_accused()) { return "ACCUSED"; }
  auto const* const found = referee_detail::finding_of(of);
  return found == nullptr ? "NOT ACCUSED" : to_string(found->outcome);
}

/// A line for each charge; without one the short report of the comparison.
inline std::ostream& operator<<(std::ostream& out, referee_result const& of) {
  if (!of.is_accused() && of.timed) {
    return out << of.candidate << ": " << report::short_text(*of.timed);
  }
  out << of.candidate << ": " << outcome_of(of) << '\n';
  for (auto const& each : of.charges) {
    out << "  " << to_string(each.what) << ": " << each.text << '\n';
  }
  return out;
}

}  // namespace assay
