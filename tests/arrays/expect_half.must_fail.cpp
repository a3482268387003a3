// expect-only-error: for others, such as half types, call expect_that(array, judge)
// SPDX-License-Identifier: Apache-2.0
#include <assay/arrays/setup.hpp>
#include <assay/core/bfloat16.hpp>

int main() {
  auto const make = [](assay::setup& in) {
    in.expect(in.output<assay::bfloat16>(100), [](std::size_t) { return 1.0; });
  };
  (void)make;
}
