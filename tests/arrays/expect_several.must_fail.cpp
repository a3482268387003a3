// expect-only-error: setup.expect of several arrays needs a const callable that takes a std::span<double> for each of them
// SPDX-License-Identifier: Apache-2.0
#include <assay/arrays/setup.hpp>

#include <span>
#include <tuple>

int main() {
  auto const make = [](assay::setup& in) {
    in.expect(std::tuple{in.output<float>(100), in.output<float>(1)}, [](std::span<double>) {});
  };
  (void)make;
}
