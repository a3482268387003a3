// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of `trace_stats --diff --range`. Needs CLI11.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/profile/step_gate.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::profile {

/// What is asked of the steps of two runs.
struct step_options {
  std::size_t skip = 0;
  std::vector<std::string> fail_if;
  std::string junit;

  static constexpr auto inconclusive = "inconclusive";

  void add_to(CLI::App& app) {
    app.add_option("--skip", skip, "with --diff --range: warm-ups to leave out, of each process")
        ->check(CLI::Range(0, 1'000'000))
        ->type_name("N");
    app.add_option(
           "--fail-if", fail_if,
           "with --diff --range: exit with 3 if a step's time grows beyond, as in "
           "'kernel gemm > +2 %', 'copy Host* > +5 %', 'range step > +1 %', or if an answer "
           "is inconclusive; several")
        ->allow_extra_args(false);
    app.add_option("--junit", junit, "write JUnit XML: a test case for each --fail-if")
        ->type_name("OUT.xml");
  }

  bool any() const { return skip > 0 || !fail_if.empty() || !junit.empty(); }

  std::vector<step_gate> gates() const {
    std::vector<step_gate> made;
    for (auto const& each : fail_if) {
      if (each != inconclusive) { made.push_back(parse_step_gate(each)); }
    }
    return made;
  }

  void validate(bool diff, std::string const& range, std::string const& html) const {
    if ((any() || !html.empty()) && (!diff || range.empty())) {
      auto const* const first = skip > 0           ? "--skip"
                                : !fail_if.empty() ? "--fail-if"
                                : !html.empty()    ? "--html"
                                                   : "--junit";
      throw std::invalid_argument(
          concat({first, " is about steps: it goes with --diff A B --range RANGE",
                  first == std::string_view{"--html"} ? ", or with --ranks" : ""}));
    }
    if (gates().empty() && (!junit.empty() || !fail_if.empty())) {
      throw std::invalid_argument("name a condition with --fail-if, as in 'kernel gemm > +2 %'");
    }
  }
};

}  // namespace assay::profile
