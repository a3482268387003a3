// expect-only-error: verify: work on a stream needs <assay/verify.cuh>, in a file that nvcc compiles
// SPDX-License-Identifier: Apache-2.0
#include <assay/verify.hpp>

int main() {
  return assay::verify([](assay::setup&, std::size_t) { return [](CUstream_st*) {}; }).cases;
}
