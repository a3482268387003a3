// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sizes of a verification that a sanitizer watches.
#pragma once

#include "catch.hpp"

#include <assay/verify/sizes.hpp>

#include <cstddef>

namespace assay::test {

/// `of`; where ASSAY_SMALL is set, those of its sizes whose extents are at most `most`.
inline sizes small_sizes(sizes of, std::size_t most) {
  if (small()) { of.at_most(most); }
  return of;
}

}  // namespace assay::test
