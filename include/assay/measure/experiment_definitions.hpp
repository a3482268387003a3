// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to experiment.hpp: the definitions of its functions.
#pragma once

#include <assay/measure/compare_variants.hpp>
#include <assay/measure/environment_watch.hpp>
#include <assay/measure/experiment.hpp>

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

namespace assay::measure {

namespace detail {

/// Calls `step`; a failure is a note, since the comparison is finished.
template <class Step>
void noting(comparison& result, std::string const& what, Step const& step) {
  try {
    step();
  } catch (std::exception const& cause) { result.notes.push_back(what + ": " + cause.what()); }
}

}  // namespace detail

ASSAY_INLINE comparison experiment::run(std::vector<contrast> const& contrasts,
                                        options chosen) const {
  auto const watch = watch_();
  auto result = measure::compare_variants(variants_, contrasts, watched(chosen, watch));
  watch.describe(result);
  if (!result.failure.empty()) { return result; }
  detail::noting(result, "the ceilings were not measured", [&] { result.ceilings = ceilings_(); });
  for (std::size_t i = 0; chosen.profiled_batches > 0 && i < profilers_.size(); ++i) {
    if (chosen.cancelled && chosen.cancelled()) {
      result.notes.push_back("cancelled before " + variants_[i].label + " was profiled");
      break;
    }
    if (chosen.progress) {
      chosen.progress(result.epochs, chosen.max_epochs, "profiling " + variants_[i].label);
    }
    detail::noting(result, variants_[i].label + " was not profiled", [&] {
      auto const found = profilers_[i](chosen.profiled_batches);
      result.variants[i].submission = found.submission;
      result.variants[i].memory = found.memory;
    });
  }
  return result;
}

}  // namespace assay::measure
