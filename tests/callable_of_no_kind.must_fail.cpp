// expect-only-error: this callable accepts none of those arguments
// SPDX-License-Identifier: Apache-2.0
#include <assay/compare.hpp>

int main() {
  auto const work = [](int) {};
  return assay::compare("a", work, "b", work).epochs;
}
