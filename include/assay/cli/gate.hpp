// SPDX-License-Identifier: Apache-2.0
/// @file
/// The exit code of a comparison, on which scripts and CI jobs may rely.
#pragma once

#include <assay/measure/comparison.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace assay::cli {

/// The exit codes of a program.
enum exit_code : int {
  ok = 0,
  wrong_answer = 1,   ///< a variant computed a wrong result; nothing of it was timed
  bad_input = 2,      ///< an option or a value; nothing was run
  gate_holds = 3,     ///< a condition of --fail-if holds
  failed = 4,         ///< the device, memory, or a file failed during the run
  gate_unproven = 5,  ///< --fail-if, and a guard forbids the answer; or --require-checks
};

inline constexpr auto exit_code_help =
    "Exit codes: 0 done; 1 a variant computed a wrong answer; 2 bad input, nothing was run; "
    "3 a condition of --fail-if holds; 4 the run failed (device, memory, file); "
    "5 --fail-if was asked, but a guard forbids a verdict (UNPROVEN), or --require-checks, and "
    "results of a variant are not checked.";

inline std::vector<std::string> const& gate_names() {
  static std::vector<std::string> const names{"slower", "faster", "different", "inconclusive",
                                              "unproven"};
  return names;
}

/// True if one of the conditions is about a difference that matters. The comparison then runs until
/// its interval lies in the margin or beyond it (`options::run_until_margin`).
inline bool asks_for_size(std::vector<std::string> const& fail_if) {
  return std::ranges::any_of(fail_if, [](std::string const& each) {
    return each == "slower" || each == "faster" || each == "different";
  });
}

/// True if a finding of `all` meets a condition of --fail-if. Only primary findings count. A
/// difference counts only if its whole interval lies beyond the margin, so a true difference inside
/// the margin meets a condition with a chance of at most alpha. Interactions have no direction:
/// they may be `different`, but neither `slower` nor `faster`.
inline bool meets(measure::comparison const& all, measure::finding const& found,
                  std::string const& condition) {
  using measure::verdict;
  if (!found.primary) { return false; }
  auto const resolved = measure::is_beyond_margin(found, all.margin);
  auto const directed = found.what != measure::contrast::kind::interaction;
  if (condition == "slower") { return resolved && directed && found.outcome == verdict::slower; }
  if (condition == "faster") { return resolved && directed && found.outcome == verdict::faster; }
  if (condition == "different") { return resolved; }
  if (condition == "inconclusive") { return found.outcome == verdict::inconclusive; }
  return condition == "unproven" && found.outcome == verdict::unproven;
}

/// The first of the conditions that a finding of `all` meets; empty if it meets none.
inline std::string met_by(measure::comparison const& all, measure::finding const& found,
                          std::vector<std::string> const& fail_if) {
  auto const met = std::ranges::find_if(
      fail_if, [&](std::string const& condition) { return meets(all, found, condition); });
  return met == fail_if.end() ? std::string{} : *met;
}

/// True if the comparison ended before a verdict was possible: a variant threw, or no analysis was
/// made.
inline bool has_failed(measure::comparison const& all) {
  if (!all.failure.empty()) { return true; }
  auto const primary = [](auto const& each) { return each.primary; };
  return std::ranges::any_of(all.findings, primary) &&
         std::ranges::all_of(all.findings, [&](auto const& each) {
           return !primary(each) ||
                  (each.outcome == measure::verdict::unproven && std::isinf(each.effect.high));
         });
}

/// True if the comparison ended before its first cell because results of a variant are not checked.
inline bool lacks_checks(measure::comparison const& all) {
  return all.checks_required && std::ranges::any_of(all.variants, [](auto const& each) {
           return each.results && *each.results != measure::checks::all;
         });
}

/// A wrong answer comes first, then checks that are required and missing, then a failure, then the
/// conditions, then a gate that could not be answered. Without conditions an unproven result is a
/// result: it is told, and the exit code is 0.
inline exit_code judge(measure::comparison const& all, std::vector<std::string> const& fail_if) {
  auto const any = [&](auto const& holds) { return std::ranges::any_of(all.findings, holds); };
  if (any([](auto const& each) { return each.outcome == measure::verdict::wrong_answer; })) {
    return wrong_answer;
  }
  if (lacks_checks(all)) { return gate_unproven; }
  if (has_failed(all)) { return failed; }
  for (auto const& condition : fail_if) {
    if (any([&](auto const& each) { return meets(all, each, condition); })) { return gate_holds; }
  }
  auto const blocked = any(
      [](auto const& each) { return each.primary && each.outcome == measure::verdict::unproven; });
  return blocked && !fail_if.empty() ? gate_unproven : ok;
}

}  // namespace assay::cli
