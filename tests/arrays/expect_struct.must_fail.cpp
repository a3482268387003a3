// expect-only-error: setup.expect compares numbers: for other types, call expect_that(array, judge)
// SPDX-License-Identifier: Apache-2.0
#include <assay/arrays/setup.hpp>

struct pair_of_shorts {
  short a, b;
};

int main() {
  auto const make = [](assay::setup& in) {
    in.expect(in.output<pair_of_shorts>(100), [](std::size_t) { return 1.0; });
  };
  (void)make;
}
