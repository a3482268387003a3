// SPDX-License-Identifier: Apache-2.0
#include "../traces.hpp"

#include <stdexcept>

namespace assay::cli {

void check_traces(trace_choice const& of) {
  if (!of.wants_traces()) { return; }
  throw std::invalid_argument(of.asked() +
                              ": this program was built without CUPTI, which records traces: build "
                              "it with a CUDA toolkit that has it");
}

void tell_trace(trace_choice const&, trace::model const&, std::string const&, bool) {}

}  // namespace assay::cli
