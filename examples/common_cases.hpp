// SPDX-License-Identifier: Apache-2.0
/// @file
/// The cases that two programs which call `assay::serve` have in common.
#pragma once

#include <assay/serve/remote_subject.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::examples {

/// The cases of both programs, in the order and with the clocks of the first. Throws
/// `std::invalid_argument` where there is none.
inline std::vector<measure::remote_case> common_cases(std::vector<std::string> const& one,
                                                      std::vector<std::string> const& other,
                                                      measure::remote_options const& chosen = {}) {
  auto both = measure::remote_process{one, chosen}.cases();
  auto const others = measure::remote_process{other, chosen}.cases();
  auto const text = [](std::vector<std::string> const& command, auto const& all) {
    std::string names = command.at(0) + " has";
    for (auto const& each : all) { names += " '" + each.name + "'"; }
    return names;
  };
  auto const refusal =
      "no case is in both programs: " + text(one, both) + "; " + text(other, others);
  std::erase_if(both, [&](measure::remote_case const& each) {
    return std::none_of(others.begin(), others.end(), [&](measure::remote_case const& offered) {
      return offered.name == each.name;
    });
  });
  if (both.empty()) { throw std::invalid_argument(refusal); }
  return both;
}

}  // namespace assay::examples
