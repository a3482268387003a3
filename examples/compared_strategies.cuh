// SPDX-License-Identifier: Apache-2.0
/// @file
/// The copy strategies between which the experiments have verdicts.
#pragma once

#include <assay/copy/bulk.cuh>
#include <assay/copy/cp_async.cuh>
#include <assay/copy/regular.cuh>

namespace assay::examples {

/// Calls `visit` with one strategy of each kind, at the stages of the published test; the control
/// first.
template <class Visit>
void each_compared_strategy(Visit const& visit) {
  visit(copy::regular<>{});
  visit(copy::cp_async<2>{});
  visit(copy::bulk<4>{});
}

}  // namespace assay::examples
