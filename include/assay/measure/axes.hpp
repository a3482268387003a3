// SPDX-License-Identifier: Apache-2.0
/// @file
/// The axes on which pipelines differ, compared by `==`, and the labels that follow from them.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/core/policy.hpp>

#include <algorithm>
#include <any>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// A pipeline's choice on one axis: a policy of any type, and its text in reports.
class axis_choice {
 public:
  /// `counts` is false where the place or the workload does not use this axis. The text is then
  /// `otherwise`.
  template <policy P>
  axis_choice(std::string axis, P const& chosen, bool counts = true, std::string otherwise = {})
      : axis_(std::move(axis)),
        text_(counts ? describe(chosen) : std::move(otherwise)),
        counts_(counts),
        value_(chosen),
        equal_([](std::any const& one, std::any const& other) {
          auto const* const right = std::any_cast<P>(&other);
          return right != nullptr && *std::any_cast<P>(&one) == *right;
        }) {}

  std::string const& axis() const noexcept { return axis_; }
  std::string const& text() const noexcept { return text_; }
  bool counts() const noexcept { return counts_; }

  /// Compares type and value. Texts play no part.
  bool operator==(axis_choice const& other) const { return equal_(value_, other.value_); }

 private:
  std::string axis_;
  std::string text_;
  bool counts_;
  std::any value_;
  bool (*equal_)(std::any const&, std::any const&);
};

/// The choices of one pipeline, axis by axis, in the order of `pipeline::axes()`.
using axis_choices = std::vector<axis_choice>;

/// All six choices of a pipeline, with the unused ones.
template <class Pipeline>
axis_choices choices_of(Pipeline const& what) {
  axis_choices all;  // no braced list: nvcc 13.0 keeps only the last element of one here
  all.emplace_back("workload", what.work);
  all.emplace_back("place", what.place);
  all.emplace_back("memory", what.memory);
  all.emplace_back("submission", what.submit);
  all.emplace_back("transfer", what.transfer, Pipeline::crosses_link, "resident");
  all.emplace_back("copy", what.copy, Pipeline::copies_tiles);
  return all;
}

namespace detail {

/// The positions of the axes on which at least two pipelines differ, and which count in at least
/// one of them.
inline std::vector<std::size_t> differing(std::vector<axis_choices> const& variants) {
  std::vector<std::size_t> found;
  for (std::size_t axis = 0; !variants.empty() && axis < variants[0].size(); ++axis) {
    auto const differs = [&](axis_choices const& each) { return each[axis] != variants[0][axis]; };
    auto const counts = [&](axis_choices const& each) { return each[axis].counts(); };
    if (std::ranges::any_of(variants, differs) && std::ranges::any_of(variants, counts)) {
      found.push_back(axis);
    }
  }
  return found;
}

/// The texts of the choices on one axis, a text for each variant. Different choices with one text
/// get numbers: `mine`, `mine (2)`.
inline std::vector<std::string> texts_on(std::vector<axis_choices> const& variants,
                                         std::size_t axis) {
  std::vector<std::string> texts;
  std::vector<axis_choice const*> kinds;  // each differs from all before it
  for (auto const& each : variants) {
    auto const& mine = each[axis];
    int same_text = 1;
    auto const known = std::ranges::find_if(kinds, [&](axis_choice const* other) {
      if (*other == mine) { return true; }
      same_text += other->text() == mine.text() ? 1 : 0;
      return false;
    });
    if (known == kinds.end()) { kinds.push_back(&mine); }
    texts.push_back(mine.text());
    if (same_text > 1 && mine.counts()) { texts.back() += " (" + std::to_string(same_text) + ")"; }
  }
  return texts;
}

/// Makes texts unique by numbers: `mine`, `mine (2)`.
inline std::vector<std::string> numbered(std::vector<std::string> const& texts) {
  std::vector<std::string> made;
  for (auto const& text : texts) {
    auto unique = text;
    auto const taken = [&] {
      return std::ranges::find(made, unique) != made.end() ||
             (unique != text && std::ranges::find(texts, unique) != texts.end());
    };
    for (int number = 2; taken(); ++number) { unique = text + " (" + std::to_string(number) + ")"; }
    made.push_back(unique);
  }
  return made;
}

}  // namespace detail

/// The names of the axes on which not all pipelines are equal, in the order of `pipeline::axes()`.
inline std::vector<std::string> changed_axes(std::vector<axis_choices> const& variants) {
  std::vector<std::string> names;
  for (auto const axis : detail::differing(variants)) { names.push_back(variants[0][axis].axis()); }
  return names;
}

/// A unique label for each pipeline: its choices on the axes on which not all are equal. A choice
/// is shown by its name where the names differ, else with its parameters.
inline std::vector<std::string> labels_of(std::vector<axis_choices> const& variants) {
  std::vector<std::string> labels(variants.size());
  for (auto const axis : detail::differing(variants)) {
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

/// The changed axes, or the labels, of pipelines. The first pipeline is the control.
template <class Control, class... Variants>
requires requires { Control::crosses_link; }
std::vector<std::string> changed_axes(Control const& control, Variants const&... variants) {
  return changed_axes(std::vector<axis_choices>{choices_of(control), choices_of(variants)...});
}
template <class Control, class... Variants>
requires requires { Control::crosses_link; }
std::vector<std::string> labels_of(Control const& control, Variants const&... variants) {
  return labels_of(std::vector<axis_choices>{choices_of(control), choices_of(variants)...});
}

}  // namespace assay::measure
