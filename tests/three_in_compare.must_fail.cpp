// expect-only-error: compare takes two variants: write assay::compare_all("a", f, "b", g, "c", h)
// SPDX-License-Identifier: Apache-2.0
#include <assay/compare.hpp>

int main() {
  auto const work = [] {};
  return assay::compare("a", work, "b", work, "c", work, assay::options{.margin = 0.1}).epochs;
}
