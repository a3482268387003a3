// expect-only-error: generic or overloaded, so its kind cannot be told: pass f itself, not the result of a call of it; wrap a generic one as assay::host_call(f)
// SPDX-License-Identifier: Apache-2.0
// A generic lambda: whether it takes a stream or a setup cannot be told.
#include <assay/compare.hpp>

int main() {
  auto const generic = [](auto...) {};
  return assay::compare("a", generic, "b", generic).epochs;
}
