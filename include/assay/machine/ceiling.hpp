// SPDX-License-Identifier: Apache-2.0
/// @file
/// A physical limit that reports divide measured rates by.
#pragma once

#include <assay/core/requirements.hpp>

#include <string>

namespace assay::machine {

/// A physical limit measured in the same run, as bytes or FLOPs per second.
struct ceiling {
  enum class unit { bytes, flops };
  std::string name;
  double per_second = 0;
  unit of = unit::bytes;
};

}  // namespace assay::machine
