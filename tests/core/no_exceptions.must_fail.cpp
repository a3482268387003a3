// expect-error: assay needs exceptions: compile without -fno-exceptions
// assay-test-flags: -fno-exceptions
// SPDX-License-Identifier: Apache-2.0
#include <assay/compare.hpp>

int main() {}
