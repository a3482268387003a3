// SPDX-License-Identifier: Apache-2.0
/// @file
/// In the place of nested.cpp, without a door: that compiles for seven seconds, once for all ways.
#include <assay/core/units.hpp>

bool compared_below();

bool compared_below() {
  using namespace assay;
  return 1_KiB == 1024;
}
