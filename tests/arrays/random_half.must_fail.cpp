// expect-only-error: for others, such as half types, keep a std::vector<T> of values and call
// from(values) SPDX-License-Identifier: Apache-2.0
#include <assay/arrays/setup.hpp>
#include <assay/core/bfloat16.hpp>

int main() {
  auto const make = [](assay::setup& in) { in.random<assay::bfloat16>(100, {-1, 1}); };
  (void)make;
}
