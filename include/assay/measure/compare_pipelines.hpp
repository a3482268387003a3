// SPDX-License-Identifier: Apache-2.0
/// @file
/// Comparisons of pipelines: two, several against one, or two axes crossed.
#pragma once

#include <assay/measure/axes.hpp>
#include <assay/measure/experiment.hpp>
#include <assay/measure/factorial.hpp>

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace assay {

/// Choices on one axis, for `factorial`: `levels{mr::pool{10_GiB}, mr::async{}}`.
template <class... Choices>
struct levels {
  std::tuple<Choices...> choices;
  explicit levels(Choices... each) : choices(std::move(each)...) {}
};

namespace measure {
namespace detail {

/// Every level of `rows` with every level of `columns`, row-major. (Functions, not nested lambdas
/// over packs: nvcc 13.0 cannot translate those.)
template <class Pipeline, class... Columns>
auto with_each(Pipeline const& row, std::tuple<Columns...> const& columns) {
  return std::apply(
      [&row](Columns const&... column) { return std::make_tuple(row.with(column)...); }, columns);
}
template <class Pipeline, class... Rows, class Columns>
auto crossed(Pipeline const& control, std::tuple<Rows...> const& rows, Columns const& columns) {
  return std::apply(
      [&](Rows const&... row) { return std::tuple_cat(with_each(control.with(row), columns)...); },
      rows);
}

}  // namespace detail
}  // namespace measure

/// Measures each of several pipelines against the first: faster, slower, or equal within a margin.
///
/// Takes all pipelines of which a `rig` can be made. Times whole batches, with their allocations,
/// launches, copies and frees. Then measures the ceilings of the place, and profiles each pipeline
/// in batches of its own (`options::profiled_batches`). Blocks until done. Pipelines that do not
/// fit into memory together run one at a time. `measure::run` describes this, verification, guards
/// and exceptions.
template <class Control, class... Variants>
requires(sizeof...(Variants) >= 1)
measure::comparison compare_all(measure::options chosen, Control const& control,
                                Variants const&... variants) {
  auto const labels = measure::labels_of(control, variants...);
  if (chosen.changed.empty()) {
    chosen.changed = measure::changed_text(measure::changed_axes(control, variants...), false);
  }
  measure::experiment all;
  std::size_t next = 0;
  all.add(control, labels[next++]);
  (all.add(variants, labels[next++]), ...);
  return all.run(measure::against_first(labels), chosen);
}

/// Measures a variant against a control; see `compare_all`.
template <class Control, class Variant>
measure::comparison compare(Control const& control, Variant const& variant,
                            measure::options const& chosen = {}) {
  return compare_all(chosen, control, variant);
}

/// Crosses two axes: every choice of `rows` with every choice of `columns`, on top of `control`.
/// Classifies their interaction and the simple effects together.
///
/// The other choices of an axis are compared with its first one. See `compare_all`.
template <class Control, class... Rows, class... Columns>
measure::comparison factorial(Control const& control, levels<Rows...> const& rows,
                              levels<Columns...> const& columns, measure::options chosen = {}) {
  using place = decltype(Control::place);
  using first_row = std::tuple_element_t<0, std::tuple<Rows...>>;
  using first_column = std::tuple_element_t<0, std::tuple<Columns...>>;
  constexpr auto row_axis = detail::axis_name<first_row, place>();
  constexpr auto column_axis = detail::axis_name<first_column, place>();
  static_assert(row_axis != column_axis, "a factorial crosses two different axes");
  static_assert(((detail::axis_name<Rows, place>() == row_axis) && ...) &&
                    ((detail::axis_name<Columns, place>() == column_axis) && ...),
                "all levels of a factor must be choices on one axis");
  static_assert(!workload_policy<first_row> || column_axis != "workload",
                "a workload brings its own axes: let the workloads be the rows");

  auto const pipelines = measure::detail::crossed(control, rows.choices, columns.choices);
  auto const choices =
      std::apply([](auto const&... each) { return measure::choices_of(each...); }, pipelines);

  auto const factor_of = [&]<std::size_t Count>(std::array<std::size_t, Count> members) {
    // The levels of one factor come from the variants with the first level of the other.
    std::vector<measure::axis_choices> along;
    for (auto const member : members) { along.push_back(choices[member]); }
    auto const names = measure::changed_axes(along);
    return measure::factor{names.empty() ? "" : names.front(), measure::labels_of(along)};
  };
  std::array<std::size_t, sizeof...(Rows)> row_members{};
  std::array<std::size_t, sizeof...(Columns)> column_members{};
  for (std::size_t r = 0; r < row_members.size(); ++r) {
    row_members[r] = r * column_members.size();
  }
  for (std::size_t c = 0; c < column_members.size(); ++c) { column_members[c] = c; }
  measure::crossing const design{factor_of(row_members), factor_of(column_members)};

  auto const labels = measure::labels_of(choices);
  if (chosen.changed.empty()) {
    chosen.changed = measure::changed_text(measure::changed_axes(choices), true);
  }
  measure::experiment all;
  std::size_t next = 0;
  std::apply([&](auto const&... each) { (all.add(each, labels[next++]), ...); }, pipelines);
  return all.run(design.contrasts(), chosen);
}

}  // namespace assay
