// SPDX-License-Identifier: Apache-2.0
/// @file
/// The files of the all-reduce experiment.
#pragma once

#include "all_reduce_table.hpp"
#include "options.hpp"
#include "strategy_rows.hpp"

#include <vector>

namespace assay::examples {

/// Throws unless the files beside those of the comparison can be written.
void require_all_reduce_outputs(cli::options const& of);

void write_all_reduce(cli::options const& of, std::vector<all_reduce_table> const& tables,
                      strategy_findings const& found);

}  // namespace assay::examples
