// SPDX-License-Identifier: Apache-2.0
/// @file
/// Stands where `support/cupti/collective_trace.hpp` does in a build without CUPTI.
#pragma once

#include "../strategy_rows.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>

namespace assay::examples {

inline void require_traceable(std::string const& prefix) {
  if (prefix.empty()) { return; }
  throw std::invalid_argument("--trace " + prefix +
                              ": this program was built without CUPTI, which records traces: build "
                              "it with a CUDA toolkit that has it");
}

template <class Work>
launch_row trace_launches(std::string const&, std::string variant, std::size_t, Work const&) {
  launch_row row;
  row.variant = variant;
  return row;
}

}  // namespace assay::examples
