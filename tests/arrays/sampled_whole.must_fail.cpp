// expect-error: setup.expect computes a sample one element at a time
// SPDX-License-Identifier: Apache-2.0
#include <assay/arrays/setup.hpp>

#include <span>

void declare(assay::setup& make) {
  auto const y = make.output<float>(10);
  make.expect(y, [](std::span<double>) {}, assay::tolerance{}, assay::sampled{4});
}
