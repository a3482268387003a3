// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to compare.hpp: the definitions of its functions.
#pragma once

#include <assay/compare.hpp>
#include <assay/measure/callable_variants.hpp>
#include <assay/measure/callables_definitions.hpp>
#include <assay/measure/compare_variants.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/measure/validate.hpp>
#include <assay/report/short_text.hpp>
#include <assay/stats/verdict.hpp>

#include <exception>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay {
namespace measure {
ASSAY_INLINE comparison compare_callables(callable_list const& list,
                                          measuring_function const& measure) {
  auto const asked = detail::with_defaults(list.chosen, list.place);
  auto const unbuilt = detail::unbuilt_variants(list);
  std::vector<std::string> labels;
  for (auto const& each : unbuilt) { labels.push_back(each.label); }
  auto const contrasts = against_first(labels);
  validate(unbuilt, contrasts, asked);

  std::shared_ptr<callable_support const> const with = list.place.make(asked);
  auto const watch = with->watch();
  bool const own_buffers = detail::keeps_own_buffers(list, *with);
  auto const variants = detail::variants_of(list, with, own_buffers);
  auto const chosen = watched(asked, watch);
  auto found = measure ? measure(variants, contrasts, chosen)
                       : compare_variants(variants, contrasts, chosen);
  watch.describe(found);
  for (auto& note : detail::scope_notes(list, own_buffers)) {
    found.notes.push_back(std::move(note));
  }
  bool declared = false;
  for (auto const& each : found.variants) { declared = declared || each.bytes > 0; }
  if (found.failure.empty() && declared) {
    try {
      found.ceilings = with->ceilings();
    } catch (std::exception const& cause) {
      found.notes.push_back(std::string{"the limit of this machine is not known: "} + cause.what());
    }
  }
  return found;
}

}  // namespace measure

ASSAY_INLINE void require(comparison const& found, std::initializer_list<verdict> allowed) {
  for (auto const& each : found.findings) {
    if (!each.primary) { continue; }
    bool holds = false;
    for (auto const one : allowed) {
      bool const may_be_small =
          stats::is_sign(each.outcome) && !measure::is_beyond_margin(each, found.margin);
      holds = holds || each.outcome == one || (one == verdict::equivalent && may_be_small);
    }
    if (!holds) { throw std::runtime_error(report::short_text(found)); }
  }
}

}  // namespace assay
