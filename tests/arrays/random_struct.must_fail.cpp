// expect-only-error: for other types, keep a std::vector<T> of values and call from(values)
// SPDX-License-Identifier: Apache-2.0
#include <assay/arrays/setup.hpp>

struct pair_of_shorts {
  short a, b;
};

int main() {
  auto const make = [](assay::setup& in) { in.random<pair_of_shorts>(100, {-1, 1}); };
  (void)make;
}
