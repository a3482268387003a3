// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saying why variants differ, and writing their traces, where the build has CUPTI.
#pragma once

#include "../explain_choice.hpp"
#include "../options.hpp"
#include "../trace_tables.hpp"

#include <trace_sqlite.hpp>

#include <assay/measure/comparison.hpp>
#include <assay/report/explanation.hpp>
#include <assay/trace/chrome.hpp>
#include <assay/trace/explain.hpp>
#include <assay/trace/record_batch.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::cli {

/// Explains, after a comparison, why each variant differs from the first, and writes their traces.
class explaining {
 public:
  void add_to(CLI::App& app) { choice_.add_to(app); }
  void check_host() const { choice_.check_host(); }
  void check() const {
    choice_.check();
    if (has_sqlite || choice_.sqlite.empty()) { return; }
    throw std::invalid_argument("--sqlite " + choice_.sqlite.string() +
                                ": this program was built without SQLite 3; --trace writes JSON, "
                                "which trace_stats reads as well");
  }

  /// Adds the reasons to `found`; `names` are those of the pipelines, the control's first.
  template <class Control, class... Variants>
  void operator()(options const& given, measure::comparison& found,
                  std::vector<std::string> const& names, Control const& control,
                  Variants const&... variants) const {
    auto const wanted = choice_.explain || choice_.wants_traces();
    if (!wanted || !found.failure.empty()) { return; }
    std::size_t at = 0;
    (one(given, found, names, ++at, control, variants), ...);
  }

  /// Writes the trace of a batch of one pipeline that is run without comparing.
  template <class Pipeline>
  void alone(Pipeline const& what, std::string const& name) const {
    if (choice_.wants_traces()) { tell(trace::record_batch(what), name, choice_.stats); }
  }

 private:
  template <class Control, class Variant>
  void one(options const& given, measure::comparison& found, std::vector<std::string> const& names,
           std::size_t at, Control const& control, Variant const& variant) const {
    auto const& variant_name = names[at];
    if (given.progress) {
      (*given.progress)(found.epochs, given.epochs, "tracing " + variant_name);
    }
    auto const why = explain(control, variant, found, {.count = choice_.explain});
    if (choice_.explain) { found.reasons.push_back(report::reason(why)); }
    if (!choice_.wants_traces()) { return; }
    auto const print = choice_.stats && !given.quiet;
    // The control is in each explanation: its first trace is the one that is kept.
    if (at == 1) { tell(why.control.trace, names[0], print); }
    tell(why.variant.trace, variant_name, print);
  }

  /// Writes a trace where it was asked for, and prints its tables.
  void tell(trace::model const& made, std::string const& name, bool print) const {
    if (!choice_.trace.empty()) {
      trace::write_chrome(made, explain_choice::path(choice_.trace, name, ".json"));
    }
    if (!choice_.sqlite.empty()) {
      write_sqlite(made, explain_choice::path(choice_.sqlite, name, ".sqlite"));
    }
    if (!print) { return; }
    std::cout << "## " << name << "\n\n";
    examples::print_tables(std::cout, made);
    for (auto const& line : trace::lacks(made)) { std::cout << "lacking: " << line << '\n'; }
  }

  explain_choice choice_;
};

}  // namespace assay::cli
