// SPDX-License-Identifier: Apache-2.0
/// @file
/// Traces of what several devices do together, where the build has CUPTI.
#pragma once

#include "strategy_rows.hpp"
#include "trace_choice.hpp"

#include <cstddef>
#include <functional>
#include <string>

namespace assay::examples {

/// The trace of `work`, which runs `operations` all-reduces over all ranks and blocks; written
/// where `chosen` says, and summed up. Run twice: the first loads what the tracer needs.
launch_row trace_launches(cli::trace_choice const& chosen, bool quiet, std::string const& variant,
                          std::size_t operations, std::function<void()> const& work);

}  // namespace assay::examples
