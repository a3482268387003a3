// expect-only-error: verify: the factory returns the work to check: void() or void(cudaStream_t)
// SPDX-License-Identifier: Apache-2.0
#include <assay/verify.hpp>

int main() { return assay::verify([](assay::setup&, std::size_t) {}).cases; }
