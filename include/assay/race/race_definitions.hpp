// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to race.hpp: the definitions of its functions.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/measure/callable_variants.hpp>
#include <assay/measure/callables_definitions.hpp>
#include <assay/race.hpp>
#include <assay/race/names.hpp>
#include <assay/race/run_race.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay {

ASSAY_INLINE void measure::require_names(space const& of) { detail::require_constants(of.names()); }

ASSAY_INLINE race_result race(std::vector<candidate> const& all, options chosen,
                              race_result before) {
  return measure::race_by(all, std::move(chosen), std::move(before),
                          [](auto const& variants, options const& watched, race_result so_far) {
                            return run_race(variants, watched, std::move(so_far));
                          });
}

ASSAY_INLINE race_result measure::race_by(std::vector<candidate> const& all, options chosen,
                                          race_result before, racing_function const& run) {
  detail::require(!all.empty(), "a race needs 2 candidates or more, not 0");
  measure::callable_list list{
      all.front().place, {}, detail::with_defaults(chosen, all.front().place)};
  for (auto const& each : all) {
    measure::racer made;
    made.constants = each.constants;
    made.texts = each.texts;
    detail::require_constants(made.parameters());
    detail::require(each.place.make == list.place.make,
                    "one race cannot hold work on the host against work on a stream: race each "
                    "kind by itself");
    list.entries.push_back(each.called);
  }
  detail::require_race(detail::unbuilt_variants(list), list.chosen, before);

  std::shared_ptr<measure::callable_support const> const with = list.place.make(list.chosen);
  auto const watch = with->watch();
  comparison here;
  watch.describe(here);
  if (!before.where.device.empty() && before.where.device != here.where.device) {
    throw std::invalid_argument(concat(
        {"the race to resume ran on ", before.where.device, ", not on ", here.where.device}));
  }
  bool const own_buffers = detail::keeps_own_buffers(list, *with);
  auto found = run(detail::variants_of(list, with, own_buffers),
                   measure::watched(list.chosen, watch), std::move(before));
  for (auto const& note : detail::scope_notes(list, own_buffers)) {
    (void)add_distinct(found.notes, note);
  }
  here = {};
  watch.describe(here);
  found.where = here.where;
  for (auto const& note : here.notes) { (void)add_distinct(found.notes, note); }
  for (std::size_t i = 0; i < all.size(); ++i) {
    found.racers[i].constants = all[i].constants;
    found.racers[i].texts = all[i].texts;
  }
  return found;
}

ASSAY_INLINE void write_header(measure::race_result const& of, std::string const& path,
                               std::string const& in) {
  write_atomically(path, report::race_header(of, in));
}

}  // namespace assay
