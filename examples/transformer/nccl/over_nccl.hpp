// SPDX-License-Identifier: Apache-2.0
/// @file
/// The ranks of a job over NCCL, in a build that has it.
#pragma once

#include <assay/comm/nccl.hpp>
#include <assay/world/world.hpp>

namespace examples {

/// Calls `visit` with this rank's end.
template <class Visit>
void over_nccl(assay::world const& all, Visit const& visit) {
  assay::comm::nccl const by{all};
  visit(by);
}

}  // namespace examples
