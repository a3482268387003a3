// SPDX-License-Identifier: Apache-2.0
/// @file
/// `explaining`: the options that explain why variants differ, and that write their traces. Needs
/// CLI11 and nlohmann_json.
#pragma once

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

/// Explains, after a comparison, why its variants differ, and writes their traces.
class explaining : public traces {
 public:
  /// `by_default`: explain variants unless the command line says otherwise.
  explicit explaining(tracing by, bool by_default = true) : traces(by), explain_(by_default) {}

  void add_to(CLI::App& app) {
    app.option_defaults()->group("Trace");
    app.add_flag("--explain,!--no-explain", explain_,
                 std::string{"trace a batch of each variant afterwards and say why they differ ("} +
                     (explain_ ? "default)" : "not by default)") + limits());
    traces::add_to(app);
  }

  /// A choice of the control: the first variant.
  static std::size_t first(std::size_t) { return 0; }
  /// A choice of the control: the variant before this one.
  static std::size_t before(std::size_t variant) { return variant - 1; }

  /// Adds to `found` the reasons for which each variant differs from its control, and the numbers
  /// below the reasons. Writes and prints the trace of each variant once. The command line says
  /// which of this is done. `runs` has the variants in their order in `found`. The names of traces
  /// begin with `prefix`.
  void explain(options const& given, measure::comparison& found,
               std::vector<trace::variant_runs> const& runs,
               std::size_t (*control_of)(std::size_t) = first,
               std::string const& prefix = {}) const {
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
          auto record = report::traced_record(why, control, variant, file(prefix, runs[control]),
                                              file(prefix, runs[variant]));
          if (told[control]) { record.control.timeline = {}; }  // an earlier record has it
          found.traced.push_back(std::move(record));
        }
      }
      tell_once(control, why.control.trace);
      tell_once(variant, why.variant.trace);
    }
  }

 private:
  std::string file(std::string const& prefix, trace::variant_runs const& of) const {
    return trace_file(prefix + of.label);
  }

  bool explain_;
};

}  // namespace assay::cli
