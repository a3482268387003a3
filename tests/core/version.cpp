// SPDX-License-Identifier: Apache-2.0
/// @file
/// The version says the same as numbers and as text.
#include <assay/version.hpp>

#include "catch.hpp"

#include <string>

TEST_CASE("the version's text is its numbers") {
  auto const text = std::to_string(assay::version_major) + "." +
                    std::to_string(assay::version_minor) + "." +
                    std::to_string(assay::version_patch);
  CHECK(assay::version == text);
}
