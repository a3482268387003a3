// expect-error: assay needs run-time type information: compile without -fno-rtti
// assay-test-flags: -fno-rtti
// SPDX-License-Identifier: Apache-2.0
#include <assay/compare.hpp>

int main() {}
