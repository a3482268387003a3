// SPDX-License-Identifier: Apache-2.0
/// @file
/// The axes on which pipelines differ, compared by `==`, and the labels that follow from them.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/core/policy.hpp>
#include <assay/workload/concepts.hpp>

#include <algorithm>
#include <any>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
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

namespace detail {

/// A workload with these choices on its own axes, as far as it has such axes.
template <class Work>
Work with_choices(Work const& work) {
  return work;
}
template <class Work, class First, class... Rest>
auto with_choices(Work const& work, First const& first, Rest const&... rest) {
  if constexpr (takes_policy<Work, First>) {
    return with_choices(work.with(first), rest...);
  } else {
    return with_choices(work, rest...);
  }
}

}  // namespace detail

/// All choices of a pipeline, with the unused ones.
///
/// The choice of the workload is without its own axes, which have choices themselves: it is what
/// the workload would be with the control's choices there.
template <class Pipeline, class Control>
axis_choices choices_of(Pipeline const& what, Control const& control) {
  axis_choices all;  // no braced list: nvcc 13.0 keeps only the last element of one here
  auto const alike =
      std::apply([&](auto const&... own) { return detail::with_choices(what.work, own...); },
                 workloads::own_choices(control.work));
  all.emplace_back("workload", alike);
  what.for_each_axis([&](std::string_view name, auto const& choice, bool counts) {
    if (name == "workload") { return; }
    all.emplace_back(std::string{name}, choice, counts, name == "transfer" ? "resident" : "");
  });
  return all;
}

namespace detail {

/// The choice on an axis, found by name; null for a pipeline whose workload has no such axis.
inline axis_choice const* choice_on(std::string const& axis, axis_choices const& of) {
  for (auto const& each : of) {
    if (each.axis() == axis) { return &each; }
  }
  return nullptr;
}

/// The texts of the choices on one axis, a text for each variant, empty where there is no choice.
/// Different choices with one text get numbers: `mine`, `mine (2)`.
inline std::vector<std::string> texts_on(std::vector<axis_choices> const& variants,
                                         std::string const& axis) {
  std::vector<std::string> texts;
  std::vector<axis_choice const*> kinds;  // each differs from all before it
  for (auto const& each : variants) {
    auto const* const mine = choice_on(axis, each);
    auto& text = texts.emplace_back(mine == nullptr ? "" : mine->text());
    if (mine == nullptr) { continue; }
    int same_text = 1;
    auto const known = std::find_if(kinds.begin(), kinds.end(), [&](axis_choice const* other) {
      if (*other == *mine) { return true; }
      same_text += other->text() == text ? 1 : 0;
      return false;
    });
    if (known == kinds.end()) { kinds.push_back(mine); }
    if (same_text > 1 && mine->counts()) { text += " (" + std::to_string(same_text) + ")"; }
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
    for (int number = 2; taken(); ++number) { unique = text + " (" + std::to_string(number) + ")"; }
    made.push_back(unique);
  }
  return made;
}

}  // namespace detail

/// The names of the axes on which at least two pipelines differ, and which count in at least one
/// of them, in the order of `pipeline::axes()`. Where only some pipelines have an axis, their
/// workloads differ, and the axis is named only if those that have it differ.
inline std::vector<std::string> changed_axes(std::vector<axis_choices> const& variants) {
  std::vector<std::string> names, changed;
  for (auto const& each : variants) {
    for (auto const& choice : each) { add_distinct(names, choice.axis()); }
  }
  for (auto const& name : names) {
    std::vector<axis_choice> on;
    for (auto const& each : variants) {
      if (auto const* mine = detail::choice_on(name, each)) { on.push_back(*mine); }
    }
    bool differs = false, counts = false;
    for (auto const& each : on) {
      differs = differs || each != on.front();
      counts = counts || each.counts();
    }
    if (differs && counts) { changed.push_back(name); }
  }
  return changed;
}

/// A unique label for each pipeline: its choices on the axes on which not all are equal. A choice
/// is shown by its name where the names differ, else with its parameters.
inline std::vector<std::string> labels_of(std::vector<axis_choices> const& variants) {
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

/// The changed axes, or the labels, of pipelines. The first pipeline is the control.
template <class Control, class... Variants>
requires requires { Control::crosses_link; }
std::vector<std::string> changed_axes(Control const& control, Variants const&... variants) {
  return changed_axes(
      std::vector<axis_choices>{choices_of(control, control), choices_of(variants, control)...});
}
template <class Control, class... Variants>
requires requires { Control::crosses_link; }
std::vector<std::string> labels_of(Control const& control, Variants const&... variants) {
  return labels_of(
      std::vector<axis_choices>{choices_of(control, control), choices_of(variants, control)...});
}

}  // namespace assay::measure
