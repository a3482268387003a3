// SPDX-License-Identifier: Apache-2.0
/// @file
/// The axes on which variants differ, by the texts of their choices.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/subject.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace assay::measure {

/// The one axis on which variants differ, "confounded" for several axes, and "" for none. Axes that
/// were crossed on purpose are listed: "a x b".
inline std::string changed_text(std::vector<std::string> const& axes, bool crossed) {
  if (axes.size() > 1 && !crossed) { return "confounded"; }
  std::string text;
  for (auto const& name : axes) { text += (text.empty() ? "" : " x ") + name; }
  return text;
}

/// The changed axes of variants by the texts of their choices. A main effect or an interaction
/// among the contrasts shows that axes were crossed.
inline std::string changed_axes(std::vector<variant> const& variants,
                                std::vector<contrast> const& contrasts) {
  std::vector<std::string> changed;
  for (auto const& each : variants) {
    for (auto const& choice : each.axes) {
      bool const shared = std::all_of(variants.begin(), variants.end(), [&](auto const& other) {
        return std::find(other.axes.begin(), other.axes.end(), choice) != other.axes.end();
      });
      if (!shared) { add_distinct(changed, choice.first); }
    }
  }
  bool const crossed = std::any_of(contrasts.begin(), contrasts.end(), [](auto const& each) {
    return each.what != contrast::kind::difference;
  });
  return changed_text(changed, crossed);
}

}  // namespace assay::measure
