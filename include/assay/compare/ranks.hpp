// SPDX-License-Identifier: Apache-2.0
/// @file
/// `compare(ranks, name, callable, name, callable)`: one verdict of all ranks of a world.
#pragma once

#include <assay/compare.hpp>
#include <assay/measure/callables.hpp>
#include <assay/measure/options.hpp>
#include <assay/serve/measure_together.hpp>
#include <assay/world/world.hpp>

#include <string>
#include <utility>

namespace assay {
/// Measures callables on all ranks together; see `compare_all` of <assay/compare.hpp>.
///
/// All ranks call it with the same names in the same order. Rank 0 decides when what is measured,
/// by its options, and a cell takes as long as the slowest rank. A wrong result and an exception
/// name their rank. Each rank returns the same verdicts and effects; times, cells and notes are in
/// the result of rank 0 alone. Throws `world_error` on all ranks where one is missing.
template <class F, class... Rest>
requires(sizeof...(Rest) >= 2)
comparison compare_all(world const& all, std::string name, F callable, Rest... rest) {
  constexpr bool on_stream = measure::detail::on_stream<F>();
  measure::callable_list list{measure::detail::supported_place<on_stream>(), {}, {}};
  measure::detail::gather<on_stream>(list, std::move(name), std::move(callable),
                                     std::move(rest)...);
  return measure::compare_callables(
      list, [&](auto const& variants, auto const& contrasts, options const& chosen) {
        return measure::measure_together(all, variants, contrasts, chosen);
      });
}

/// Measures `variant` against `control` on all ranks together.
template <class Control, class Variant>
comparison compare(world const& all, std::string control_name, Control control,
                   std::string variant_name, Variant variant, options const& chosen = {}) {
  return compare_all(all, std::move(control_name), std::move(control), std::move(variant_name),
                     std::move(variant), chosen);
}

}  // namespace assay
