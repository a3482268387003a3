// SPDX-License-Identifier: Apache-2.0
#include "../explaining.hpp"

#include "../traces.hpp"

#include <assay/cupti/explain.hpp>
#include <assay/cupti/recorder.hpp>
#include <assay/report/explanation.hpp>

namespace assay::cli {

void explaining::add_to(command_line& line) { choice_.add_to(line); }
void explaining::check() const { check_traces(choice_); }

void explaining::variant_list::explain(options const& given, measure::comparison& found,
                                       std::size_t control, std::size_t variant) {
  auto const wanted = choice_.explain || choice_.wants_traces();
  if (!wanted || !found.failure.empty()) { return; }
  auto& one = all_.at(control);
  auto& other = all_.at(variant);
  if (given.progress) {
    (*given.progress)(found.epochs, given.epochs, "tracing " + other.compared.runs.label);
  }
  auto const why =
      trace::explain_variants(found, one.compared, other.compared, {.count = choice_.explain});
  if (choice_.explain) { found.reasons.push_back(report::reason(why)); }
  if (!choice_.wants_traces()) { return; }
  auto const tell = [&](entry& of, trace::model const& made) {
    if (!of.told) { tell_trace(choice_, made, of.compared.runs.label, given.quiet); }
    of.told = true;
  };
  tell(one, why.control.trace);
  tell(other, why.variant.trace);
}

void explaining::trace_alone(trace::variant_runs const& what) const {
  auto const run = what.open();
  run();
  tell_trace(choice_, trace::record_warm({}, run), what.label, false);
}

}  // namespace assay::cli
