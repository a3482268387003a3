// SPDX-License-Identifier: Apache-2.0
// Two kernels for y = a x + y: is one float a thread slower than four?
#include <assay/compare.cuh>

#include <iostream>

__global__ void saxpy(int n, float a, float const* x, float* y) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = a * x[i] + y[i]; }
}

__global__ void saxpy4(int n, float a, float4 const* x, float4* y) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 4) { return; }
  float4 const p = x[i];
  float4 q = y[i];
  q = {a * p.x + q.x, a * p.y + q.y, a * p.z + q.z, a * p.w + q.w};
  y[i] = q;
}

int main() {
  constexpr int n = 1 << 24;
  float *x = nullptr, *y = nullptr;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cudaMemset(y, 0, n * sizeof(float));
  auto const found = assay::compare(
      "scalar", [=](cudaStream_t s) { saxpy<<<n / 256, 256, 0, s>>>(n, 2.0f, x, y); },
      "float4", [=](cudaStream_t s) {
        saxpy4<<<n / 1024, 256, 0, s>>>(n, 2.0f, reinterpret_cast<float4*>(x), reinterpret_cast<float4*>(y));
      });
  std::cout << found;
  return found.is(assay::verdict::unproven) ? 1 : 0;
}
