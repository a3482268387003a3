// SPDX-License-Identifier: Apache-2.0
/// @file
/// The axes on which pipelines differ, compared by `==`, and the labels that follow from them.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/core/policy.hpp>
#include <assay/workload/concepts.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace assay::measure {

/// A pipeline's choice on one axis.
struct axis_choice {
  std::string axis;
  std::string text;      ///< for reports
  bool counts = true;    ///< false where the place or the workload does not use this axis
  std::size_t kind = 0;  ///< the same number for equal choices of one type, whatever their texts
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

/// The choices of a pipeline in the order of its axes. The workload is without its own axes, which
/// have choices themselves: it is what it would be with the control's choices there.
template <class Pipeline, class Control>
auto values_of(Pipeline const& what, Control const& control) {
  auto const alike = std::apply([&](auto const&... own) { return with_choices(what.work, own...); },
                                workloads::own_choices(control.work));
  return std::tuple_cat(
      std::make_tuple(alike, what.place, what.memory, what.submit, what.transfer, what.copy),
      workloads::own_choices(what.work));
}

/// True if a pipeline has made this choice. No type is a choice on two axes.
template <class P, class... Choices>
bool has_choice(std::tuple<Choices...> const& of, P const& choice) {
  if constexpr ((std::same_as<P, Choices> || ...)) {
    return std::get<P>(of) == choice;
  } else {
    return false;
  }
}

/// The number of the first pipeline that has made this choice.
template <class P, class... Values>
std::size_t kind_of(P const& choice, Values const&... all) {
  std::size_t kind = 0;
  (void)((has_choice(all, choice) || (++kind, false)) || ...);
  return kind;
}

/// Numbers the choices of one pipeline among all.
template <class... P, class... Values>
void set_kinds(axis_choices& of, std::tuple<P...> const& own, Values const&... all) {
  std::size_t next = 0;
  ((of[next++].kind = kind_of(std::get<P>(own), all...)), ...);
  of.front().text = describe(std::get<0>(own));
}
template <class... Values>
void set_all_kinds(std::vector<axis_choices>& of, Values const&... all) {
  std::size_t next = 0;
  (set_kinds(of[next++], all, all...), ...);
}

template <class Pipeline>
axis_choices texts_of(Pipeline const& what) {
  axis_choices all;
  what.for_each_axis([&](std::string_view name, auto const& choice, bool counts) {
    auto const unused = name == "transfer" ? "resident" : "";
    all.push_back({std::string{name}, counts ? describe(choice) : unused, counts});
  });
  return all;
}

}  // namespace detail

/// All choices of pipelines, with the unused ones. The first pipeline is the control.
template <class Control, class... Variants>
std::vector<axis_choices> choices_of(Control const& control, Variants const&... variants) {
  std::vector<axis_choices> all;  // no braced list: nvcc 13.0 keeps only the last element of one
  all.push_back(detail::texts_of(control));
  (all.push_back(detail::texts_of(variants)), ...);
  detail::set_all_kinds(all, detail::values_of(control, control),
                        detail::values_of(variants, control)...);
  return all;
}

namespace detail {

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
    if (!before.empty()) { text += " (" + std::to_string(before.size() + 1) + ")"; }
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
  return changed_axes(choices_of(control, variants...));
}
template <class Control, class... Variants>
requires requires { Control::crosses_link; }
std::vector<std::string> labels_of(Control const& control, Variants const&... variants) {
  return labels_of(choices_of(control, variants...));
}

}  // namespace assay::measure
