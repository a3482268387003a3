// SPDX-License-Identifier: Apache-2.0
#include "../explaining.hpp"

#include "../traces.hpp"

#include <assay/core/distinct.hpp>

namespace assay::cli {

void explaining::add_to(command_line& line) {
  choice_.add_to(line, "; not in this build, which has no CUPTI");
}
void explaining::check() const { check_traces(choice_); }

void explaining::variant_list::explain(options const&, measure::comparison& found, std::size_t,
                                       std::size_t) {
  if (!choice_.explain) { return; }
  add_distinct(found.notes, std::string{"why variants differ is not traced: this program was built "
                                        "without CUPTI"});
}

/// Not called: `check_traces` refuses.
void explaining::trace_alone(trace::variant_runs const&) const {}

}  // namespace assay::cli
