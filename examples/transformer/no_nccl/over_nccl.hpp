// SPDX-License-Identifier: Apache-2.0
/// @file
/// Stands where `nccl/over_nccl.hpp` does in a build without NCCL.
#pragma once

#include <assay/world/world.hpp>

#include <stdexcept>

namespace examples {

template <class Visit>
void over_nccl(assay::world const&, Visit const&) {
  throw std::invalid_argument("--ranks nccl: this build has no NCCL 2.27 or newer");
}

}  // namespace examples
