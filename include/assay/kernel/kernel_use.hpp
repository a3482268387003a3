// SPDX-License-Identifier: Apache-2.0
/// @file
/// `kernel_use`: the key of what is known about a kernel on a device.
#pragma once

#include <assay/core/requirements.hpp>

#include <compare>
#include <cstddef>

namespace assay::kernel {

/// A kernel, by its address, as it is launched on a device.
struct kernel_use {
  void const* kernel;
  int device;
  unsigned threads = 0;
  std::size_t shared_bytes = 0;
  auto operator<=>(kernel_use const&) const = default;
};

}  // namespace assay::kernel
