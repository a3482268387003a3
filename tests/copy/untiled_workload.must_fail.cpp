// expect-error: this workload takes no copy strategy
// SPDX-License-Identifier: Apache-2.0
// A strategy for a workload whose kernels have no tiles.
#include <assay/copy/bulk.hpp>
#include <assay/pipeline.hpp>
#include <assay/workload/vector_add.hpp>

using namespace assay;

int main() {
  pipeline const sum{workloads::vector_add<float>{}, on::host{1}};
  (void)sum.with(copy::bulk<4>{});
}
