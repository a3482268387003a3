// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to gate.hpp: the definitions of its functions.
#pragma once

#include <assay/cli/gate.hpp>
#include <assay/measure/comparison.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace assay::cli {

ASSAY_INLINE std::vector<std::string> const& gate_names() {
  static std::vector<std::string> const names{"slower", "faster", "different", "inconclusive",
                                              "unproven"};
  return names;
}

ASSAY_INLINE bool asks_for_size(std::vector<std::string> const& fail_if) {
  return std::ranges::any_of(fail_if, [](std::string const& each) {
    return each == "slower" || each == "faster" || each == "different";
  });
}

ASSAY_INLINE bool meets(measure::comparison const& all, measure::finding const& found,
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

ASSAY_INLINE std::string met_by(measure::comparison const& all, measure::finding const& found,
                                std::vector<std::string> const& fail_if) {
  auto const met = std::ranges::find_if(
      fail_if, [&](std::string const& condition) { return meets(all, found, condition); });
  return met == fail_if.end() ? std::string{} : *met;
}

ASSAY_INLINE bool has_failed(measure::comparison const& all) {
  if (!all.failure.empty()) { return true; }
  auto const primary = [](auto const& each) { return each.primary; };
  return std::ranges::any_of(all.findings, primary) &&
         std::ranges::all_of(all.findings, [&](auto const& each) {
           return !primary(each) ||
                  (each.outcome == measure::verdict::unproven && std::isinf(each.effect.high));
         });
}

ASSAY_INLINE bool lacks_checks(measure::comparison const& all) {
  return all.checks_required && std::ranges::any_of(all.variants, [](auto const& each) {
           return each.results && *each.results != measure::checks::all;
         });
}

ASSAY_INLINE exit_code judge(measure::comparison const& all,
                             std::vector<std::string> const& fail_if) {
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

ASSAY_INLINE exit_code worse(exit_code one, exit_code other) {
  constexpr std::array order{ok, gate_unproven, gate_holds, failed, wrong_answer};
  auto const rank = [&](exit_code code) { return std::ranges::find(order, code); };
  return rank(one) < rank(other) ? other : one;
}

}  // namespace assay::cli
