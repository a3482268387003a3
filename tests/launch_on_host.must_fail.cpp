// expect-error: work on a stream needs <assay/compare.cuh>, in a file that nvcc compiles
// SPDX-License-Identifier: Apache-2.0
// A launch in a program that knows no device.
#include <assay/compare.hpp>

int main() {
  auto const work = [](CUstream_st*) {};
  return assay::compare("a", work, "b", work).epochs;
}
