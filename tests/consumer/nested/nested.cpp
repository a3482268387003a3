// SPDX-License-Identifier: Apache-2.0
/// @file
/// Uses the library from a library of the consumer.
#include <assay/compare.hpp>

bool compared_below();

bool compared_below() {
  auto const found = assay::compare(
      "a", [] { return 1; }, "b", [] { return 2; },
      assay::options{.max_epochs = 8, .max_seconds = 1});
  return found.variants.size() == 2;
}
