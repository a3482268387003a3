// SPDX-License-Identifier: Apache-2.0
/// @file
/// A setup whose arrays lie in host memory.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>

#include <cstdint>
#include <memory>

namespace assay::test {

inline setup on_host(std::uint64_t seed = 1) {
  return setup{std::make_unique<arrays::host_array_store>(seed), seed};
}

}  // namespace assay::test
