// expect-error: one comparison cannot hold work on the host against work on a stream
// SPDX-License-Identifier: Apache-2.0
#include <assay/compare.cuh>

int main() {
  return assay::compare("host", [] {}, "stream", [](cudaStream_t) {}).epochs;
}
