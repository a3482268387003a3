// expect-only-error: so its kind cannot be told: wrap it as assay::host_call(f)
// SPDX-License-Identifier: Apache-2.0
// A generic lambda: whether it takes a stream or a setup cannot be told.
#include <assay/compare.hpp>

int main() {
  auto const generic = [](auto...) {};
  return assay::compare("a", generic, "b", generic).epochs;
}
