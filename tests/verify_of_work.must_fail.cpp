// expect-only-error: verify takes a factory: a function of assay::setup& and of up to four extents
// SPDX-License-Identifier: Apache-2.0
#include <assay/verify.hpp>

int main() { return assay::verify([] {}).cases; }
