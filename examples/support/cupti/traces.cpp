// SPDX-License-Identifier: Apache-2.0
#include "../traces.hpp"

#include "../trace_tables.hpp"

#include <trace_sqlite.hpp>

#include <assay/chrome/chrome.hpp>
#include <assay/trace/explanation.hpp>

#include <iostream>
#include <stdexcept>

namespace assay::cli {

void check_traces(trace_choice const& of) {
  of.check();
  if (has_sqlite || of.sqlite.empty()) { return; }
  throw std::invalid_argument("--sqlite " + of.sqlite.string() +
                              ": this program was built without SQLite 3; --trace writes JSON, "
                              "which trace_stats reads as well");
}

void tell_trace(trace_choice const& chosen, trace::model const& made, std::string const& variant,
                bool quiet) {
  if (!chosen.trace.empty()) {
    trace::write_chrome(made, trace_choice::path(chosen.trace, variant, ".json"));
  }
  if (!chosen.sqlite.empty()) {
    write_sqlite(made, trace_choice::path(chosen.sqlite, variant, ".sqlite"));
  }
  if (!chosen.stats || quiet) { return; }
  std::cout << "## " << variant << "\n\n";
  examples::print_tables(std::cout, made);
  for (auto const& line : trace::loss_notes(made)) { std::cout << "lacking: " << line << '\n'; }
}

}  // namespace assay::cli
