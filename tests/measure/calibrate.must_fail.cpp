// expect-error: setup::expect
// SPDX-License-Identifier: Apache-2.0
// A task with a reference of its own is refused, since nothing would call it.
#include "../dispatch/saxpy.hpp"

#include <assay/measure/calibrate.hpp>

struct with_reference : assay::test::saxpy {
  static double reference(float a, float x, float y) { return double{a} * x + y; }
};

int main() { (void)assay::measure::calibrate<with_reference>({assay::on::host{1}}, {}); }
