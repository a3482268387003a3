// SPDX-License-Identifier: Apache-2.0
// Two kernels for z = a x + y: what do four floats a thread gain over one?
#include <assay/compare.cuh>

#include <iostream>

// docs: compare
__global__ void saxpy(int n, float a, float const* x, float const* y, float* z) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { z[i] = a * x[i] + y[i]; }
}
__global__ void saxpy4(int n, float a, float4 const* x, float4 const* y, float4* z) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 4) { return; }
  float4 const p = x[i], q = y[i];
  z[i] = {a * p.x + q.x, a * p.y + q.y, a * p.z + q.z, a * p.w + q.w};
}
int main() try {
  constexpr int n = 1 << 24, block = 256;
  float4 *x = nullptr, *y = nullptr, *z = nullptr;
  for (float4** each : {&x, &y, &z}) {
    assay::check(cudaMalloc(each, n * sizeof(float)));
    assay::check(cudaMemset(*each, 1, n * sizeof(float)));
  }
  std::cout << assay::compare(
      "scalar",
      [=](cudaStream_t s) { saxpy<<<n / block, block, 0, s>>>(n, 2.0f, &x->x, &y->x, &z->x); },
      "float4", [=](cudaStream_t s) { saxpy4<<<n / 4 / block, block, 0, s>>>(n, 2.0f, x, y, z); });
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
// docs: end
