// SPDX-License-Identifier: Apache-2.0
/// @file
/// Comparisons as JUnit XML, for CI: a test case for each contrast and clock.
#pragma once

#include <assay/measure/comparison.hpp>

#include <functional>
#include <string>
#include <vector>

namespace assay::report {

/// Returns the condition of a gate that a finding of a comparison meets; empty for none.
using junit_gate = std::function<std::string(measure::comparison const&, measure::finding const&)>;

/// A test suite for each comparison. A case fails for WRONG ANSWER, for UNPROVEN on the primary
/// clock, and for a condition of the gate. One more case, `epochs`, fails where an epoch ended the
/// comparison.
std::string junit(std::vector<measure::comparison const*> const& all, junit_gate const& gate = {});

/// One test case of a suite.
struct junit_line {
  std::string name, failure, words;  ///< `failure`: why the case fails; empty where it passes
};

/// One suite of these cases.
std::string junit(std::string const& suite, std::vector<junit_line> const& cases);

}  // namespace assay::report

#ifndef ASSAY_DECLARED
#include <assay/report/junit_definitions.hpp>
#endif
