// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to cupti_tracing.hpp: the definitions of its functions.
#pragma once

#include <assay/cli/cupti_tracing.hpp>
#include <assay/cupti/counters.hpp>
#include <assay/cupti/explain.hpp>
#include <assay/cupti/recorder.hpp>

#include <filesystem>
#include <functional>

namespace assay::cli {

ASSAY_INLINE tracing cupti_tracing(void (*write_sqlite)(trace::model const&,
                                                        std::filesystem::path const&)) {
  return {[](std::function<void()> const& work) { return trace::record_warm({}, work); },
          [](measure::comparison const& found, trace::compared_runs const& control,
             trace::compared_runs const& variant, bool count) {
            return trace::explain_variants(found, control, variant, {.count = count});
          },
          write_sqlite,
          [](trace::metric_set const& metrics, std::function<void()> const& work) {
            trace::counters reader{{.metrics = metrics, .scope = trace::counter_scope::kernel}};
            return reader.measure(work);
          }};
}

}  // namespace assay::cli
