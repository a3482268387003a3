// SPDX-License-Identifier: Apache-2.0
// Two kernels for y = a x + y: what do four floats a thread gain over one?
#include <assay/compare.cuh>

#include <iostream>

// docs: compare
__global__ void saxpy(int n, float a, float const* x, float* y) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = a * x[i] + y[i]; }
}

__global__ void saxpy4(int n, float a, float4 const* x, float4* y) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 4) { return; }
  float4 const p = x[i], q = y[i];
  y[i] = {a * p.x + q.x, a * p.y + q.y, a * p.z + q.z, a * p.w + q.w};
}

int main() try {
  constexpr int n = 1 << 24, block = 256;
  float *x = nullptr, *y = nullptr;
  for (float** each : {&x, &y}) { assay::check(cudaMalloc(each, n * sizeof(float))); }
  auto *x4 = reinterpret_cast<float4*>(x), *y4 = reinterpret_cast<float4*>(y);
  std::cout << assay::compare(
      "scalar", [=](cudaStream_t s) { saxpy<<<n / block, block, 0, s>>>(n, 2.0f, x, y); }, "float4",
      [=](cudaStream_t s) { saxpy4<<<n / 4 / block, block, 0, s>>>(n, 2.0f, x4, y4); });
  // docs: end
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
