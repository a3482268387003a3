// SPDX-License-Identifier: Apache-2.0
#include "../collective_trace.hpp"

#include "../traces.hpp"

#include <assay/cupti/recorder.hpp>
#include <assay/trace/explanation.hpp>

namespace assay::examples {

launch_row trace_launches(cli::trace_choice const& chosen, bool quiet, std::string const& variant,
                          std::size_t operations, std::function<void()> const& work) {
  auto const made = trace::record_warm({}, work);
  cli::tell_trace(chosen, made, variant, quiet);
  auto row = launches_of(made, variant, operations);
  if (row.kernels == 0) {
    for (auto const& why : trace::loss_notes(made)) {
      row.lacks += (row.lacks.empty() ? "" : "; ") + why;
    }
  }
  return row;
}

}  // namespace assay::examples
