// expect-only-error: a factory returns the work that is timed: void() or void(cudaStream_t)
// SPDX-License-Identifier: Apache-2.0
#include <assay/compare.hpp>

int main() {
  auto const work = [](assay::setup&) {};
  return assay::compare("a", work, "b", work).epochs;
}
