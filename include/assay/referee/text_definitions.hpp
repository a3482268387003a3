// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to text.hpp: the verdict of the referee as text.
#pragma once

#include <assay/referee/text.hpp>
#include <assay/report/format.hpp>
#include <assay/report/short_text.hpp>
#include <assay/report/words.hpp>

#include <algorithm>
#include <ostream>
#include <string_view>

namespace assay {
namespace referee_detail {

ASSAY_INLINE measure::finding const* finding_of(referee_result const& of) {
  if (!of.timed) { return nullptr; }
  auto const& all = of.timed->findings;
  auto const found =
      std::find_if(all.begin(), all.end(), [](auto const& one) { return one.primary; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace referee_detail

ASSAY_INLINE std::string_view outcome_of(referee_result const& of) {
  if (of.is_accused()) { return "ACCUSED"; }
  auto const* const found = referee_detail::finding_of(of);
  return found == nullptr ? "NOT ACCUSED" : to_string(found->outcome);
}

ASSAY_INLINE std::ostream& operator<<(std::ostream& out, referee_result const& of) {
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
