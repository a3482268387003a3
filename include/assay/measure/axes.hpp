// SPDX-License-Identifier: Apache-2.0
/// @file
/// The axes on which pipelines differ, compared by `==`, and the labels that follow from them.
#pragma once

#include <assay/core/policy.hpp>
#include <assay/workload/concepts.hpp>

#include <concepts>
#include <cstddef>
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

/// Adds a choice; one that does not count has a text of its axis.
void add_choice(axis_choices& to, std::string_view axis, std::string text, bool counts);

template <class Pipeline>
axis_choices texts_of(Pipeline const& what) {
  axis_choices all;
  what.for_each_axis([&](std::string_view name, auto const& choice, bool counts) {
    add_choice(all, name, counts ? describe(choice) : std::string{}, counts);
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

/// The names of the axes on which at least two pipelines differ, and which count in at least one
/// of them, in the order of `pipeline::axes()`. Where only some pipelines have an axis, their
/// workloads differ, and the axis is named only if those that have it differ.
std::vector<std::string> changed_axes(std::vector<axis_choices> const& variants);

/// A unique label for each pipeline: its choices on the axes on which not all are equal. A choice
/// is shown by its name where the names differ, else with its parameters.
std::vector<std::string> labels_of(std::vector<axis_choices> const& variants);

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

#ifndef ASSAY_DECLARED
#include <assay/measure/axes_definitions.hpp>
#endif
