// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to explaining.hpp: the definitions of its functions.
#pragma once

#include <assay/cli/explaining.hpp>
#include <assay/cli/options.hpp>
#include <assay/cli/traces.hpp>
#include <assay/cli/tracing.hpp>
#include <assay/core/distinct.hpp>
#include <assay/cupti/variant_runs.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/explanation.hpp>
#include <assay/report/traced.hpp>
#include <assay/trace/explanation.hpp>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace assay::cli {

ASSAY_INLINE void explaining::add_to(CLI::App& app) {
  app.option_defaults()->group("Trace");
  app.add_flag("--explain,!--no-explain", explain_,
               std::string{"trace a batch of each variant afterwards and say why they differ ("} +
                   (explain_ ? "default)" : "not by default)") + limits());
  traces::add_to(app);
}

ASSAY_INLINE void explaining::explain(options const& given, measure::comparison& found,
                                      std::vector<trace::variant_runs> const& runs,
                                      std::size_t (*control_of)(std::size_t),
                                      std::string const& prefix) const {
  if (!(explain_ || wanted()) || !found.failure.empty()) { return; }
  if (by().explain == nullptr) {
    add_distinct(found.notes,
                 "why variants differ is not traced: this program was built without CUPTI");
    return;
  }
  std::vector<bool> told(runs.size());
  auto const tell_once = [&](std::size_t variant, trace::model const& made) {
    if (wanted() && !told[variant]) { tell(made, prefix + runs[variant].label, given); }
    told[variant] = true;
  };
  for (std::size_t variant = 1; variant < runs.size(); ++variant) {
    auto const control = control_of(variant);
    if (auto const& progress = given.measuring.progress) {
      progress(found.epochs, given.measuring.max_epochs, "tracing " + runs[variant].label);
    }
    auto const why =
        by().explain(found, {control, runs[control]}, {variant, runs[variant]}, explain_);
    if (explain_) {
      found.reasons.push_back(report::reason(why));
      if (why.untraced.empty()) {
        auto record =
            report::traced_record(why, control, variant, trace_file(prefix + runs[control].label),
                                  trace_file(prefix + runs[variant].label));
        if (told[control]) { record.control.timeline = {}; }  // an earlier record has it
        found.traced.push_back(std::move(record));
      }
    }
    tell_once(control, why.control.trace);
    tell_once(variant, why.variant.trace);
  }
}

}  // namespace assay::cli
