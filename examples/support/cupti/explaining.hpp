// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saying why variants differ, and writing their traces, where the build has CUPTI.
#pragma once

#include "../explain_choice.hpp"
#include "../options.hpp"

#include <trace_sqlite.hpp>

#include <assay/measure/comparison.hpp>
#include <assay/report/explanation.hpp>
#include <assay/trace/chrome.hpp>
#include <assay/trace/explain.hpp>
#include <assay/trace/record_batch.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace assay::cli {

/// Explains, after a comparison, why each variant differs from the first, and writes their traces.
class explaining {
 public:
  void add_to(CLI::App& app) { choice_.add_to(app); }
  void check() const { choice_.check(); }

  /// Adds the reasons to `found`; `names` are those of the pipelines, the control's first.
  template <class Control, class... Variants>
  void operator()(options const& given, measure::comparison& found,
                  std::vector<std::string> const& names, Control const& control,
                  Variants const&... variants) const {
    auto const wanted = choice_.explain || !choice_.trace.empty();
    if (!wanted || !found.failure.empty()) { return; }
    std::size_t at = 0;
    (one(given, found, names[0], names[++at], control, variants), ...);
  }

  /// Writes the trace of a batch of one pipeline that is run without comparing.
  template <class Pipeline>
  void alone(Pipeline const& what, std::string const& name) const {
    if (!choice_.trace.empty()) { write(trace::record_batch(what), name); }
  }

 private:
  template <class Control, class Variant>
  void one(options const& given, measure::comparison& found, std::string const& control_name,
           std::string const& variant_name, Control const& control, Variant const& variant) const {
    if (given.progress) {
      (*given.progress)(found.epochs, given.epochs, "tracing " + variant_name);
    }
    auto const why = explain(control, variant, found, {.count = choice_.explain});
    if (choice_.explain) { found.reasons.push_back(report::reason(why)); }
    if (choice_.trace.empty()) { return; }
    write(why.control.trace, control_name);
    write(why.variant.trace, variant_name);
  }

  void write(trace::model const& made, std::string const& name) const {
    trace::write_chrome(made, choice_.path(name, ".json"));
    write_sqlite(made, choice_.path(name, ".sqlite"));
  }

  explain_choice choice_;
};

}  // namespace assay::cli
