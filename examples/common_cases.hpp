// SPDX-License-Identifier: Apache-2.0
/// @file
/// The cases that programs which call `assay::serve` offer, and those that two of them have in
/// common.
#pragma once

#include <assay/measure/remote_subject.hpp>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::examples {

/// Starts a program and returns its cases. Errors begin with the name of the program.
inline std::vector<measure::remote_case> cases_of(std::vector<std::string> const& command,
                                                  measure::remote_options const& chosen = {}) {
  auto const named = [&](std::exception const& cause) {
    return (command.empty() ? "" : command[0]) + ": " + cause.what();
  };
  try {
    return measure::remote_process{command, chosen}.cases();
  } catch (std::invalid_argument const& cause) {
    throw std::invalid_argument(named(cause));
  } catch (std::runtime_error const& cause) { throw std::runtime_error(named(cause)); }
}

/// The cases of both programs, in the order and with the clocks of the first. Throws
/// `std::invalid_argument` where there is none.
inline std::vector<measure::remote_case> common_cases(std::vector<std::string> const& one,
                                                      std::vector<std::string> const& other,
                                                      measure::remote_options const& chosen = {}) {
  auto both = cases_of(one, chosen);
  auto const others = cases_of(other, chosen);
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
