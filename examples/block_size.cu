// SPDX-License-Identifier: Apache-2.0
// Which block size? The factory makes the buffers anew in each epoch, and says what is right.
#include <assay/compare.cuh>

#include <iostream>

__global__ void scale_kernel(std::size_t n, float const* x, float* y) {
  std::size_t const i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = 2 * x[i]; }
}

int main() {
  constexpr std::size_t n = std::size_t{1} << 24;
  auto const scale = [](unsigned block) {
    return [block](assay::setup& make) {
      auto const x = make.random<float>(n);
      auto const y = make.output<float>(n);
      make.moves(8.0 * n);
      make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
      return [=](cudaStream_t s) {
        scale_kernel<<<static_cast<unsigned>((n + block - 1) / block), block, 0, s>>>(n, x.data(), y.data());
      };
    };
  };
  std::cout << assay::compare_all("128", scale(128), "256", scale(256), "512", scale(512), "1024",
                                  scale(1024), assay::options{.margin = 0.02});
}
