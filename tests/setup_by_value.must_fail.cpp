// expect-only-error: a factory takes assay::setup by reference: write assay::setup&
// SPDX-License-Identifier: Apache-2.0
#include <assay/compare.hpp>

int main() {
  auto const work = [](assay::setup) { return [] {}; };
  return assay::compare("a", work, "b", work).is(assay::verdict::equivalent) ? 0 : 1;
}
