// SPDX-License-Identifier: Apache-2.0
#include "../collective_trace.hpp"

namespace assay::examples {

/// Not called: `check_traces` refuses.
launch_row trace_launches(cli::trace_choice const&, bool, std::string const& variant, std::size_t,
                          std::function<void()> const&) {
  launch_row row;
  row.variant = variant;
  return row;
}

}  // namespace assay::examples
