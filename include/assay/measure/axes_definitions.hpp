// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to axes.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/core/policy.hpp>
#include <assay/measure/axes.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::measure {
namespace detail {

ASSAY_INLINE void add_choice(axis_choices& to, std::string_view axis, std::string text,
                             bool counts) {
  if (!counts && axis == "transfer") { text = "resident"; }
  to.push_back({std::string{axis}, std::move(text), counts});
}

/// The choice on an axis, found by name; null for a pipeline whose workload has no such axis.
inline axis_choice const* choice_on(std::string const& axis, axis_choices const& of) {
  auto const found = std::ranges::find(of, axis, &axis_choice::axis);
  return found == of.end() ? nullptr : &*found;
}

/// The texts of the choices on one axis, a text for each variant, empty where there is no choice.
/// Different choices with one text get numbers: `mine`, `mine (2)`.
inline std::vector<std::string> texts_on(std::vector<axis_choices> const& variants,
                                         std::string const& axis) {
  std::vector<std::string> texts;
  for (auto const& each : variants) {
    auto const* const mine = choice_on(axis, each);
    auto& text = texts.emplace_back(mine == nullptr ? "" : mine->text);
    if (mine == nullptr || !mine->counts) { continue; }
    std::set<std::size_t> before;  // the kinds that have the text with a lower number
    for (auto const& other : variants) {
      auto const* const its = choice_on(axis, other);
      if (its != nullptr && its->text == mine->text && its->kind < mine->kind) {
        before.insert(its->kind);
      }
    }
    if (!before.empty()) { text += concat({" (", std::to_string(before.size() + 1), ")"}); }
  }
  return texts;
}

/// Makes texts unique by numbers: `mine`, `mine (2)`.
inline std::vector<std::string> numbered(std::vector<std::string> const& texts) {
  std::vector<std::string> made;
  for (auto const& text : texts) {
    auto unique = text;
    auto const among = [&](std::vector<std::string> const& all) {
      return std::find(all.begin(), all.end(), unique) != all.end();
    };
    auto const taken = [&] { return among(made) || (unique != text && among(texts)); };
    for (int number = 2; taken(); ++number) {
      unique = concat({text, " (", std::to_string(number), ")"});
    }
    made.push_back(unique);
  }
  return made;
}

}  // namespace detail

ASSAY_INLINE std::vector<std::string> changed_axes(std::vector<axis_choices> const& variants) {
  std::vector<std::string> names, changed;
  for (auto const& each : variants) {
    for (auto const& choice : each) { add_distinct(names, choice.axis); }
  }
  for (auto const& name : names) {
    axis_choice const* first = nullptr;
    bool differs = false, counts = false;
    for (auto const& each : variants) {
      auto const* const mine = detail::choice_on(name, each);
      if (mine == nullptr) { continue; }
      if (first == nullptr) { first = mine; }
      differs = differs || mine->kind != first->kind;
      counts = counts || mine->counts;
    }
    if (differs && counts) { changed.push_back(name); }
  }
  return changed;
}

ASSAY_INLINE std::vector<std::string> labels_of(std::vector<axis_choices> const& variants) {
  std::vector<std::string> labels(variants.size());
  for (auto const& axis : changed_axes(variants)) {
    auto const texts = detail::texts_on(variants, axis);
    std::vector<std::string> choices, names;
    for (auto const& text : texts) {
      add_distinct(choices, text);
      add_distinct(names, name_of(text));
    }
    for (std::size_t i = 0; i < labels.size(); ++i) {
      auto const text = names.size() == choices.size() ? name_of(texts[i]) : texts[i];
      labels[i] += (labels[i].empty() || text.empty() ? "" : ", ") + text;
    }
  }
  for (auto& label : labels) {
    if (label.empty()) { label = "control"; }
  }
  return detail::numbered(labels);
}

}  // namespace assay::measure
